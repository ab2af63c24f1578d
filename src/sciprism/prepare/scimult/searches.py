"""The pre-training source of search: SciRepEval's queries with clicked and other shown papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sciprism.datasets.layouts.item_tables import clean_text, parse_number
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.samplers.scored_lists import ScoredList
from sciprism.prepare.samplers.search_pairs import SearchPairSampler
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext
from sciprism.prepare.scimult.sources import (
    PretrainingSource,
    parse_source_paper,
    read_training_records,
    write_source,
)

SEARCHES = PretrainingSource("SciRepEval-Search", "search.jsonl", (528_497, 620_033))


def write_search_lists(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write an example of each query: scores above 0 are positives, others hard negatives."""
    report = SampleReport()
    records, missing_inputs = read_training_records(context, "search")
    lists = (_parse_list(where, record) for where, record in records)
    examples = SearchPairSampler(negatives=0, seed=context.seed).sample(lists, report=report)
    return write_source(context, SEARCHES, examples, dropped=DropReport(), report=report, missing_inputs=missing_inputs)


def _parse_list(where: str, record: Mapping[str, Any]) -> ScoredList:
    query, candidates = record.get("query"), record.get("candidates")
    if not isinstance(query, str) or not isinstance(candidates, list):
        raise InputError(f"{where}: expected `query` (text) and `candidates` (list)")
    found = [parse_source_paper(candidate, f"{where}, candidates") for candidate in candidates]
    papers = [Paper(id=paper.id, title=paper.title, abstract=paper.abstract) for paper in found]
    scores = [parse_number(candidate.get("score"), f"{where}: the score") for candidate in candidates]
    return ScoredList(clean_text(query), papers, scores)

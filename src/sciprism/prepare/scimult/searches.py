"""The pre-training source of search: SciRepEval's queries with the papers that were clicked, or were not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sciprism.datasets.layouts.item_tables import number_of, text_of
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Sampled
from sciprism.prepare.samplers.search_pairs import SearchList, SearchPairs
from sciprism.prepare.scimult.desk import Desk, Made
from sciprism.prepare.scimult.sources import Source, paper_in, training_records, write_source

SEARCHES = Source("SciRepEval-Search", "search.jsonl", (528_497, 620_033))


def search_lists(desk: Desk) -> Made:
    """Write an example of each query: scores above 0 are positives, all others hard negatives."""
    report = Sampled()
    records, lacking = training_records(desk, "search")
    lists = (_list(place, record) for place, record in records)
    examples = SearchPairs(negatives=0, seed=desk.seed).sample(lists, report=report)
    return write_source(desk, SEARCHES, examples, tally=DropReport(), report=report, lacking=lacking)


def _list(place: str, record: Mapping[str, Any]) -> SearchList:
    query, candidates = record.get("query"), record.get("candidates")
    if not isinstance(query, str) or not isinstance(candidates, list):
        raise InputError(f"{place}: expected `query` (text) and `candidates` (list)")
    papers = [_bare(paper_in(candidate, f"{place}, candidates")) for candidate in candidates]
    scores = [number_of(candidate.get("score"), f"{place}: the score") for candidate in candidates]
    return SearchList(text_of(query), papers, scores)


def _bare(paper: Paper) -> Paper:
    return Paper(id=paper.id, title=paper.title, abstract=paper.abstract)

"""The pre-training source of link prediction: SciRepEval's citation triplets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext
from sciprism.prepare.scimult.sources import (
    PretrainingSource,
    parse_source_paper,
    read_training_records,
    write_source,
)
from sciprism.training.examples import Example

TRIPLETS = PretrainingSource("citation triplets", "citations.jsonl", (165_340, 819_836))
NO_TITLE = "triplet with a paper without title, dropped"


def write_citation_triplets(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write one example for consecutive triplets of a query.

    Every triplet is a positive pair with its own negative: the i-th negative belongs to the i-th positive, so
    a cited paper may occur twice.
    """
    dropped = DropReport()
    records, missing_inputs = read_training_records(context, "cite_prediction")

    def triplets() -> Iterator[tuple[Paper, Paper, Paper]]:
        """Yield the triplets whose papers have titles."""
        for where, record in records:
            query, cited, other = (
                parse_source_paper(record.get(key), f"{where}, {key}") for key in ("query", "pos", "neg")
            )
            if query.title and cited.title and other.title:
                yield query, cited, other
            else:
                dropped.add(NO_TITLE, f"{query.id} {cited.id} {other.id}")

    groups = (zip(*group, strict=True) for _, group in groupby(triplets(), key=lambda each: each[0].id))
    examples = (Example(query=queries[0], positives=cited, negatives=others) for queries, cited, others in groups)
    return write_source(context, TRIPLETS, examples, dropped=dropped, missing_inputs=missing_inputs)

"""The pre-training source of link prediction: SciRepEval's citation triplets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import Desk, Made
from sciprism.prepare.scimult.sources import Source, paper_in, training_records, write_source
from sciprism.training.examples import Example

TRIPLETS = Source("citation triplets", "citations.jsonl", (165_340, 819_836))
NO_TITLE = "triplet with a paper without title, left out"

Triplet = tuple[Paper, Paper, Paper]


def citation_triplets(desk: Desk) -> Made:
    """Write one example for the triplets of a query that stand one after the other.

    Every triplet is a positive pair with its own negative: the i-th negative belongs to the i-th positive, so
    a cited paper may stand twice.
    """
    tally = DropReport()
    records, lacking = training_records(desk, "cite_prediction")

    def triplets() -> Iterator[Triplet]:
        for place, record in records:
            query, cited, other = (
                paper_in(record.get(key), f"{place}, {key}") for key in ("query", "pos", "neg")
            )
            if query.title and cited.title and other.title:
                yield query, cited, other
            else:
                tally.add(NO_TITLE, f"{query.id} {cited.id} {other.id}")

    return write_source(desk, TRIPLETS, _examples(triplets()), tally=tally, lacking=lacking)


def _examples(triplets: Iterator[Triplet]) -> Iterator[Example]:
    for _, group in groupby(triplets, key=lambda triplet: triplet[0].id):
        queries, cited, others = zip(*group, strict=True)
        yield Example(query=queries[0], positives=cited, negatives=others)

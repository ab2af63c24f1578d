"""What the pre-training sources share: their files, their counts, and SciRepEval's records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import ID_FIELDS, paper_of
from sciprism.datasets.layouts.scirepeval import TEXTS
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Sampled
from sciprism.prepare.scimult.desk import Desk, Made, MissingFilesError, numbered
from sciprism.training.examples import Example, write_examples

FOLDER = "pretrain"
SPLITS = ("train", "validation")


@dataclass(frozen=True, slots=True)
class Source:
    """A source of Table A1: its name, its file, and the queries and positive pairs that the paper states."""

    name: str
    file: str
    published: tuple[int, int]


def write_source(
    desk: Desk,
    source: Source,
    examples: Iterable[Example],
    *,
    tally: DropReport,
    report: Sampled | None = None,
    lacking: tuple[str, ...] = (),
) -> Made:
    """Write a source; count its examples, distinct queries, positive pairs and hard negatives.

    report: what a sampler says of the examples, complete when they are all taken.
    """
    counts: Counter[str] = Counter()
    queries: set[str] = set()

    def counted() -> Iterator[Example]:
        for example in examples:
            pairs, negatives = len(example.positives), len(example.negatives)
            counts.update({"examples": 1, "positive pairs": pairs, "hard negatives": negatives})
            queries.add(_query_id(example))
            yield example

    place = f"{FOLDER}/{source.file}"
    write_examples(counted(), desk.out / place)
    if report is not None:
        tally.update(report.dropped)
        counts.update({f"negatives: {kind}": count for kind, count in sorted(report.negatives.items())})
    return Made(
        name=source.name,
        files=(place,),
        first=len(queries),
        second=counts["positive pairs"],
        published=source.published,
        counts=counts,
        lacking=lacking,
        tally=tally,
    )


def training_records(desk: Desk, config: str) -> tuple[Iterator[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """Return the records of train and validation behind their places, and the split that is not there."""
    paths: list[Path] = []
    lacking: list[str] = []
    for split in SPLITS:
        try:
            paths += desk.hub(TEXTS, config, split)
        except MissingFilesError as missing:
            lacking.append(str(missing))
    if not paths:
        raise MissingFilesError(lacking[0])
    return (item for path in paths for item in numbered(desk.home, path)), tuple(lacking)


def paper_in(record: Any, place: str) -> Paper:
    """Return a paper of a record of SciRepEval; older files name papers by `sha`. Raises InputError."""
    if not isinstance(record, Mapping):
        raise InputError(f"{place}: expected a paper as an object, got {record!r:.60}")
    keys = (*ID_FIELDS, "sha")
    name = next((as_id(record[key]) for key in keys if record.get(key) not in (None, "")), "")
    if not name:
        raise InputError(f"{place}: a paper without {', '.join(keys)}")
    return paper_of(record, name)


def _query_id(example: Example) -> str:
    query = example.query
    return query if isinstance(query, str) else query.id

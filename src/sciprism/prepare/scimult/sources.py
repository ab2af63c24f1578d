"""Shared by the pre-training sources: their files, their counts, and SciRepEval's records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import ID_FIELDS, parse_paper
from sciprism.datasets.layouts.scirepeval import TEXTS
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.scimult.context import (
    MissingFilesError,
    PreparedDataSet,
    SciMultPrepareContext,
    read_located_records,
)
from sciprism.training.examples import Example, item_key

FOLDER = "pretrain"
SPLITS = ("train", "validation")


@dataclass(frozen=True, slots=True)
class PretrainingSource:
    """A source of Table A1: its name, its file, and its published numbers of queries and positive pairs."""

    name: str
    file: str
    published: tuple[int, int]


def write_source(
    context: SciMultPrepareContext,
    source: PretrainingSource,
    examples: Iterable[Example],
    *,
    dropped: DropReport,
    report: SampleReport | None = None,
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write a source; count its examples, distinct queries, positive pairs and hard negatives.

    report: the sampler's report, complete when all examples are consumed.
    """
    counts: Counter[str] = Counter()
    queries: set[str] = set()

    def counted() -> Iterator[Example]:
        """Yield the examples, and count them."""
        for example in examples:
            pairs, negatives = len(example.positives), len(example.negatives)
            counts.update({"examples": 1, "positive pairs": pairs, "hard negatives": negatives})
            queries.add(item_key(example.query))
            yield example

    file = f"{FOLDER}/{source.file}"
    context.examples.write(file, counted())
    if report is not None:
        dropped.update(report.dropped)
        counts.update({f"negatives: {kind}": count for kind, count in sorted(report.negatives.items())})
    return PreparedDataSet(
        name=source.name,
        files=(file,),
        queries=len(queries),
        targets=counts["positive pairs"],
        published=source.published,
        counts=counts,
        missing_inputs=missing_inputs,
        dropped=dropped,
    )


def read_training_records(
    context: SciMultPrepareContext, config: str
) -> tuple[Iterator[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """Return (location, record) of train and validation, and the missing splits."""
    paths: list[Path] = []
    missing_inputs: list[str] = []
    for split in SPLITS:
        try:
            paths += context.find_split(TEXTS, config, split)
        except MissingFilesError as missing:
            missing_inputs.append(str(missing))
    if not paths:
        raise MissingFilesError(missing_inputs[0])
    return (item for path in paths for item in read_located_records(context.data_root, path)), tuple(missing_inputs)


def parse_source_paper(record: Any, where: str) -> Paper:
    """Return the paper of a SciRepEval record; older files have `sha` as id. Raises InputError."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected a paper as an object, got {record!r:.60}")
    keys = (*ID_FIELDS, "sha")
    name = next((as_id(record[key]) for key in keys if record.get(key) not in (None, "")), "")
    if not name:
        raise InputError(f"{where}: a paper without {', '.join(keys)}")
    return parse_paper(record, name)

"""Sample papers of a data set by the lowest hashes of their ids, so that its tasks share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput, Target, concatenate
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.split import SplitEntry, SplitTable, read_entries
from sciprism.drop_report import DropReport
from sciprism.seeding import random_fraction

ELSEWHERE = "train or dev paper that is in dev or test of another data set"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSizes:
    """The number of papers to sample of each part, 0 for all. years: first and last year of test papers."""

    train: int = 0
    dev: int = 0
    test: int = 0
    years: tuple[int, int] | None = None
    seed: int = 0

    def includes(self, entry: SplitEntry) -> bool:
        """Tell whether a test paper is of the years in question."""
        return self.years is None or self.years[0] <= (entry.paper.year or 0) <= self.years[1]


ALL = SampleSizes()


def sample_entries(entries: Iterable[SplitEntry], size: int, seed: int = 0) -> list[SplitEntry]:
    """Return the `size` papers whose ids have the lowest hashes (0: all), in the given order."""
    listed = list(entries)
    if not size or len(listed) <= size:
        return listed
    order = np.argsort([random_fraction(seed, entry.paper.id) for entry in listed], kind="stable")[:size]
    return [listed[row] for row in sorted(order.tolist())]


def read_test_entries(data_root: DataRoot, data: str, dropped: DropReport) -> list[SplitEntry]:
    """Return the test papers of a data set in the one split."""
    count_missing_data_sets(data_root, dropped)
    return [entry for entry in read_entries(data_root, data) if entry.part == "test"]


def read_entries_with(data_root: DataRoot, data: str, field: str, dropped: DropReport) -> list[SplitEntry]:
    """Return the papers of a data set whose field is not empty; others are counted."""
    count_missing_data_sets(data_root, dropped)
    entries = []
    for entry in read_entries(data_root, data):
        if entry.row.get(field) in (None, ""):
            dropped.add(f"no {field}", entry.paper.id)
        else:
            entries.append(entry)
    return entries


def count_missing_data_sets(data_root: DataRoot, dropped: DropReport) -> None:
    """Count the data sets that were missing when the split was built."""
    for data in SplitTable.load(data_root).missing:
        dropped.add("data set missing from the split", data)


def sample_parts(
    entries: Iterable[SplitEntry], sizes: SampleSizes, dropped: DropReport
) -> dict[Part, list[SplitEntry]]:
    """Sample each part, without train papers that are dev or test elsewhere and dev papers that are test."""
    parts: dict[Part, list[SplitEntry]] = {part: [] for part in PARTS}
    for entry in entries:
        if entry.own_part == "test":
            if sizes.includes(entry):
                parts["test"].append(entry)
        elif entry.part == entry.own_part:
            parts[entry.own_part].append(entry)
        else:
            dropped.add(ELSEWHERE, entry.paper.id)
    return {part: sample_entries(parts[part], getattr(sizes, part), sizes.seed) for part in PARTS}


def build_probe_input(
    parts: dict[Part, list[tuple[SplitEntry, Target]]], dropped: DropReport, *, group: str = "", positive: str = ""
) -> ProbeInput:
    """Return the concatenated parts as the input of a probe; group: the field that names each problem."""
    pairs, rows = concatenate(parts)
    return ProbeInput(
        ids=[entry.paper.id for entry, _ in pairs],
        items=[entry.paper for entry, _ in pairs],
        targets=[target for _, target in pairs],  # type: ignore[arg-type]
        **rows,
        groups=[str(entry.row[group]) for entry, _ in pairs] if group else None,
        positive=positive,
        dropped=dropped,
    )


def to_rows(numbers: Sequence[int]) -> Rows:
    """Return row numbers as an array."""
    return np.array(numbers, dtype=np.int64)

"""Papers of one data set, drawn so that its tasks share them: the lowest hashes of their ids come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled
from sciprism.datasets.sources import PARTS, Part, draw
from sciprism.datasets.split import Entry, SplitTable, entries
from sciprism.drop_report import DropReport

ELSEWHERE = "train or dev paper that another test or dev has"
Target = str | tuple[str, ...] | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many papers to draw of each part, 0 for all. years: the first and last of test papers."""

    train: int = 0
    dev: int = 0
    test: int = 0
    years: tuple[int, int] | None = None
    seed: int = 0

    def fits(self, entry: Entry) -> bool:
        """Tell whether a test paper lies in the years asked for."""
        return self.years is None or self.years[0] <= (entry.paper.year or 0) <= self.years[1]


ALL = Sizes()


def lowest(found: Iterable[Entry], size: int, seed: int = 0) -> list[Entry]:
    """Return the `size` papers whose ids hash lowest (all for 0), in the order given."""
    known = list(found)
    if not size or len(known) <= size:
        return known
    order = np.argsort([draw(entry.paper.id, seed) for entry in known], kind="stable")[:size]
    return [known[place] for place in sorted(order.tolist())]


def tested(home: DataRoot, data: str, tally: DropReport) -> list[Entry]:
    """Return the papers of a data set that are test papers in the one split."""
    note_missing(home, tally)
    return [entry for entry in entries(home, data) if entry.part == "test"]


def note_missing(home: DataRoot, tally: DropReport) -> None:
    """Count the data sets whose tests the split could not know of."""
    for data in SplitTable.of(home).missing:
        tally.add("data set not there when the split was made", data)


def divide(found: Iterable[Entry], sizes: Sizes, tally: DropReport) -> dict[Part, list[Entry]]:
    """Draw each part, but no train paper that is dev or test anywhere, and no dev paper that is test."""
    parts: dict[Part, list[Entry]] = {part: [] for part in PARTS}
    for entry in found:
        if entry.own == "test":
            if sizes.fits(entry):
                parts["test"].append(entry)
        elif entry.part == entry.own:
            parts[entry.own].append(entry)
        else:
            tally.add(ELSEWHERE, entry.paper.id)
    each = {"train": sizes.train, "dev": sizes.dev, "test": sizes.test}
    return {part: lowest(parts[part], each[part], sizes.seed) for part in PARTS}


def assemble(
    parts: dict[Part, list[tuple[Entry, Target]]], tally: DropReport, *, group: str = "", positive: str = ""
) -> Labelled:
    """Lay the parts behind one another as the input of a probe; group: the field that names each problem."""
    together = [pair for part in PARTS for pair in parts[part]]
    ends = np.cumsum([0, *(len(parts[part]) for part in PARTS)])
    rows = {part: np.arange(ends[i], ends[i + 1], dtype=np.int64) for i, part in enumerate(PARTS)}
    return Labelled(
        ids=[entry.paper.id for entry, _ in together],
        items=[entry.paper for entry, _ in together],
        targets=[target for _, target in together],  # type: ignore[arg-type]
        train=rows["train"],
        dev=rows["dev"],
        test=rows["test"],
        groups=[str(entry.row[group]) for entry, _ in together] if group else None,
        positive=positive,
        tally=tally,
    )


def as_rows(found: Sequence[int]) -> Rows:
    """Return row numbers as an array."""
    return np.array(found, dtype=np.int64)

"""Classes and numbers to predict from papers: the input of probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled
from sciprism.datasets.layouts.open.drawn import ALL, Sizes, Target, assemble, divide, note_missing
from sciprism.datasets.sources import PARTS, Part
from sciprism.datasets.split import Entry, entries
from sciprism.drop_report import DropReport

Scale = Literal["as it is", "rank share", "deviation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Read one class of each paper, or all its classes where the field holds a list.

    target: the field of the records. group: the field that names problems of their own, such as topics of
    screening. positive: the positive class, where there are two.
    """

    data: str
    target: str
    sizes: Sizes = ALL
    group: str = ""
    positive: str = ""

    def read(self, home: DataRoot) -> Labelled:
        """Return the papers, drawn, with their classes; one without a class is counted."""
        tally = DropReport()
        note_missing(home, tally)
        known = []
        for entry in entries(home, self.data):
            if entry.row.get(self.target) in (None, ""):
                tally.add(f"no {self.target}", entry.paper.id)
            else:
                known.append(entry)
        parts = divide(known, self.sizes, tally)
        pairs = {part: [(entry, self._target(entry)) for entry in parts[part]] for part in PARTS}
        return assemble(pairs, tally, group=self.group, positive=self.positive)

    def _target(self, entry: Entry) -> Target:
        value = entry.row[self.target]
        return tuple(dict.fromkeys(map(str, value))) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Read one number of each paper, as it is or as its standing among the papers of its venue and year.

    scale: "rank share" is (mean rank - 1/2) / n within the venue and year, near 0 for the least and near 1
    for the most, so that years with longer time to be cited compare; the logarithm that counts are often
    given would change no rank. "deviation" is (value - mean) / standard deviation, for scores whose scales
    differ by venue and year. Both look at all papers of the data set that have a value; a venue and year with
    fewer than `least` of them is left out and counted.
    """

    data: str
    target: str
    scale: Scale = "as it is"
    least: int = 20
    sizes: Sizes = ALL

    def read(self, home: DataRoot) -> Labelled:
        """Return the papers, drawn, with their numbers; one without a number is counted."""
        tally = DropReport()
        note_missing(home, tally)
        known: list[Entry] = []
        for entry in entries(home, self.data):
            if entry.row.get(self.target) is None:
                tally.add(f"no {self.target}", entry.paper.id)
            else:
                known.append(entry)
        values = self.scaled(known, tally)
        parts = divide([entry for entry in known if entry.paper.id in values], self.sizes, tally)
        pairs: dict[Part, list[tuple[Entry, Target]]] = {
            part: [(entry, values[entry.paper.id]) for entry in parts[part]] for part in PARTS
        }
        return assemble(pairs, tally)

    def scaled(self, known: Sequence[Entry], tally: DropReport) -> Mapping[str, float]:
        """Return the number of each paper by its id; what is left out is counted."""
        if self.scale == "as it is":
            return {entry.paper.id: float(entry.row[self.target]) for entry in known}
        together: dict[Any, list[Entry]] = defaultdict(list)
        for entry in known:
            together[entry.paper.venue, entry.paper.year].append(entry)
        scale = SCALES[self.scale]
        found: dict[str, float] = {}
        for (venue, year), group in together.items():
            numbers = np.array([float(entry.row[self.target]) for entry in group])
            if len(group) < self.least or not numbers.std():
                tally.add(f"venue and year with fewer than {self.least} papers", f"{venue} {year}")
                continue
            found |= dict(zip((entry.paper.id for entry in group), scale(numbers).tolist(), strict=True))
        return found


def rank_shares(numbers: Doubles) -> Doubles:
    """Return (rank - 1/2) / n of each number, equal numbers sharing their mean rank. (n,) -> (n,)."""
    _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shares: Doubles = ((ends - counts / 2) / len(numbers))[place]
    return shares


def deviations(numbers: Doubles) -> Doubles:
    """Return (number - mean) / standard deviation. (n,) -> (n,)."""
    scaled: Doubles = (numbers - numbers.mean()) / numbers.std()
    return scaled


SCALES: Mapping[str, Callable[[Doubles], Doubles]] = {"rank share": rank_shares, "deviation": deviations}

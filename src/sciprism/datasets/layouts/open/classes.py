"""Classes and numbers to predict from papers, for probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput, Target
from sciprism.datasets.layouts.open.sampling import (
    ALL,
    SampleSizes,
    build_probe_input,
    read_entries_with,
    sample_parts,
)
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.split import SplitEntry
from sciprism.drop_report import DropReport

Scale = Literal["as it is", "rank share", "deviation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClasses:
    """Read the class of each paper, or all its classes where the field is a list.

    target: the field with the class. group: the field that names separate problems, such as topics of
    screening. positive: the positive class, where there are two.
    """

    data: str
    target: str
    sizes: SampleSizes = ALL
    group: str = ""
    positive: str = ""

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their classes; papers without a class are counted."""
        dropped = DropReport()
        known = read_entries_with(data_root, self.data, self.target, dropped)
        parts = sample_parts(known, self.sizes, dropped)

        def target(entry: SplitEntry) -> Target:
            value = entry.row[self.target]
            return tuple(dict.fromkeys(map(str, value))) if isinstance(value, list) else str(value)

        pairs = {part: [(entry, target(entry)) for entry in parts[part]] for part in PARTS}
        return build_probe_input(pairs, dropped, group=self.group, positive=self.positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperNumbers:
    """Read a number of each paper, as it is or relative to the papers of its venue and year.

    scale: "rank share" is (mean rank - 1/2) / n within the venue and year, near 0 for the smallest and near 1
    for the largest, so that years with more time to be cited are comparable; a logarithm would not change
    ranks. "deviation" is (value - mean) / standard deviation, for scores whose scales differ by venue and
    year. Both use all papers of the data set that have a value; a venue and year with fewer than `min_papers`
    of them is dropped and counted.
    """

    data: str
    target: str
    scale: Scale = "as it is"
    min_papers: int = 20
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their numbers; papers without a number are counted."""
        dropped = DropReport()
        known = read_entries_with(data_root, self.data, self.target, dropped)
        values = self.scale_numbers(known, dropped)
        parts = sample_parts([entry for entry in known if entry.paper.id in values], self.sizes, dropped)
        pairs: dict[Part, list[tuple[SplitEntry, Target]]] = {
            part: [(entry, values[entry.paper.id]) for entry in parts[part]] for part in PARTS
        }
        return build_probe_input(pairs, dropped)

    def scale_numbers(self, known: Sequence[SplitEntry], dropped: DropReport) -> Mapping[str, float]:
        """Return paper id -> number; dropped papers are counted."""
        if self.scale == "as it is":
            return {entry.paper.id: float(entry.row[self.target]) for entry in known}
        groups: dict[Any, list[SplitEntry]] = defaultdict(list)
        for entry in known:
            groups[entry.paper.venue, entry.paper.year].append(entry)
        scale = SCALES[self.scale]
        found: dict[str, float] = {}
        for (venue, year), group in groups.items():
            numbers = np.array([float(entry.row[self.target]) for entry in group])
            if len(group) < self.min_papers or not numbers.std():
                dropped.add(f"venue and year with fewer than {self.min_papers} papers", f"{venue} {year}")
                continue
            found |= dict(zip((entry.paper.id for entry in group), scale(numbers).tolist(), strict=True))
        return found


def compute_rank_shares(numbers: Doubles) -> Doubles:
    """Return (rank - 1/2) / n of each number; ties share their mean rank. (n,) -> (n,)."""
    _, groups, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shares: Doubles = ((ends - counts / 2) / len(numbers))[groups]
    return shares


def compute_deviations(numbers: Doubles) -> Doubles:
    """Return (number - mean) / standard deviation. (n,) -> (n,)."""
    scaled: Doubles = (numbers - numbers.mean()) / numbers.std()
    return scaled


SCALES: Mapping[str, Callable[[Doubles], Doubles]] = {
    "rank share": compute_rank_shares,
    "deviation": compute_deviations,
}

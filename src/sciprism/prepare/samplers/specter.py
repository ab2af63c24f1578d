"""Triplets by how strongly papers are tied, as SPECTER's code draws them: five a query, two of them hard."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.samplers.drawing import NONE, RANDOM, Draw, Sampled, chance, check_numbers, drawn
from sciprism.prepare.samplers.triplets import outside

DIRECT, SECOND = 5, 1
"""How strongly a cited paper is tied, and one that a cited paper cites."""
WEAKER = "tied more weakly"
UNTIED = "query whose ties have no strength"

Ties = Callable[[int], Mapping[int, float]]
"""Gives the papers tied to a paper, and how strongly."""


@dataclass(frozen=True, slots=True)
class CitationTies:
    """What a paper cites, and what those papers cite, more weakly."""

    graph: CitationGraph

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        ties: dict[int, float] = dict.fromkeys(sorted(self.graph.near(row) - {row}), SECOND)
        return ties | dict.fromkeys(self.graph.answers(row), DIRECT)


class GivenTies:
    """Ties that are counted elsewhere, such as how often two papers are viewed together.

    given: (row, row -> strength) of each paper, taken one by one into arrays.
    """

    def __init__(self, given: Iterable[tuple[int, Mapping[int, float]]]) -> None:
        self._bounds: dict[int, tuple[int, int]] = {}
        self._others, self._strengths = array("i"), array("f")
        for row, ties in given:
            start = len(self._others)
            self._others.extend(ties.keys())
            self._strengths.extend(ties.values())
            self._bounds[row] = start, len(self._others)

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        part = slice(*self._bounds.get(row, (0, 0)))
        return dict(zip(self._others[part], self._strengths[part], strict=True))

    @property
    def rows(self) -> list[int]:
        """Return the papers that have ties, ascending."""
        return sorted(self._bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecterTriplets:
    """Draw triplets for a paper by the strengths of its ties, with replacement.

    names: of the rows. triplets: of a query. hard_share: of them, rounded up; their negative is tied too, but
    weaker by more than the margin. margin: a share of the span of the strengths, 1 where whole numbers lie
    1 apart. The other negatives are tied in no way. Where no tie is stronger than the rest, as where cited
    papers cite nothing, all are positives: the published code gives such papers no triplet.
    """

    names: Sequence[str]
    ties: Ties
    triplets: int = 5
    hard_share: float = 0.3
    margin: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=("triplets", "seed"), other=("hard_share", "margin"))
        if self.triplets < 1 or not 0 <= self.hard_share <= 1 or not 0 <= self.margin < 1:
            raise InputError(
                f"{self.triplets} triplets, {self.hard_share} of them hard, margin {self.margin}: at least 1 "
                "triplet, a share from 0 to 1 and a margin from 0 to less than 1 are needed"
            )

    def __call__(self, key: tuple[int, int]) -> Draw:
        """Return what is drawn for a row the n-th time; these and the seed decide it."""
        row, turn = key
        ties = {other: strength for other, strength in self.ties(row).items() if strength > 0}
        if not ties:
            return Draw(dropped=((UNTIED, self.names[row]),))
        random = chance(self.seed, self.names[row], turn)
        margin = self._margin(ties.values())
        least, most = min(ties.values()), max(ties.values())
        strong = [other for other in ties if ties[other] > least + margin] or [
            other for other in ties if ties[other] == most
        ]
        weak = [other for other in ties if ties[other] < most - margin]
        hard = min(math.ceil(self.hard_share * self.triplets), len(strong) * len(weak))
        found = []
        for _ in range(hard):
            negative = random.choice(weak)
            above = [other for other in ties if ties[other] > ties[negative] + margin]
            found.append((random.choice(above), negative, WEAKER))
        barred = {row, *ties}
        for _ in range(self.triplets - hard):
            others = _stranger(random, len(self.names), barred)
            found += [(random.choice(strong), other, RANDOM) for other in others]
        if not found:  # tied to all papers there are
            return Draw((random.choice(strong),), (), (NONE,))
        positives, negatives, kinds = zip(*found, strict=True)
        return Draw(positives, negatives, kinds)

    def _margin(self, strengths: Iterable[float]) -> float:
        values = {*strengths}
        span = max(values) - min(values)
        whole = all(float(value).is_integer() for value in values)
        return 1.0 if whole and span == 1 else self.margin * span


def _stranger(random: Random, size: int, barred: set[int]) -> list[int]:
    """Draw a row that is not barred; none where all are."""
    if 2 * len(barred) > size:
        return outside(random, size, barred, 1)
    while (row := random.randrange(size)) in barred:
        pass
    return [row]


def draws(
    draw: Callable[[tuple[int, int]], Draw],
    rows: Iterable[tuple[int, int]],
    *,
    workers: int = 1,
    report: Sampled,
) -> Iterator[tuple[int, Draw]]:
    """Yield (row, what was drawn) for each (row, turn) that something can be drawn for, in order."""
    asked = list(rows)
    for (row, _), found in zip(asked, drawn(draw, asked, workers), strict=True):
        if report.add(found):
            yield row, found

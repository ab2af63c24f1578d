"""Triplets by the strength of links between papers, as in SPECTER's code: five a query, two of them hard."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    SampleReport,
    check_numbers,
    sample_in_parallel,
    seeded_random,
)
from sciprism.prepare.samplers.triplets import sample_outside

WEAKER_LINK = "tied more weakly"
"""The kind of a hard negative; it is part of the files of triplets, so it stays."""
NO_STRENGTH = "query whose links have no strength"

LinkStrengths = Callable[[int], Mapping[int, float]]
"""Returns the papers linked to a paper, and how strongly."""


@dataclass(frozen=True, slots=True)
class CitationStrengths:
    """Links of strength 5 to the papers that a paper cites, and of strength 1 to those that they cite."""

    graph: CitationGraph

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        second: dict[int, float] = dict.fromkeys(sorted(self.graph.two_steps_away(row) - {row}), 1)
        return second | dict.fromkeys(self.graph.targets(row), 5)


class LinkStrengthTable:
    """Link strengths from elsewhere, such as how often two papers are viewed together.

    links: (row, row -> strength) of each paper, copied into arrays one by one.
    """

    def __init__(self, links: Iterable[tuple[int, Mapping[int, float]]]) -> None:
        self._bounds: dict[int, tuple[int, int]] = {}
        self._others, self._strengths = array("i"), array("f")
        for row, strengths in links:
            start = len(self._others)
            self._others.extend(strengths.keys())
            self._strengths.extend(strengths.values())
            self._bounds[row] = start, len(self._others)

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        part = slice(*self._bounds.get(row, (0, 0)))
        return dict(zip(self._others[part], self._strengths[part], strict=True))

    @property
    def rows(self) -> list[int]:
        """Return the papers that have links, ascending."""
        return sorted(self._bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecterTripletSampler:
    """Sample triplets for a paper by the strengths of its links, with replacement.

    names: of the rows. triplets: of a query. hard_share: of them, rounded up; their negative is linked too,
    but weaker by more than the margin. margin: a share of the range of the strengths; 1 if they are integers
    1 apart. The other negatives are not linked. If no link is stronger than the others, as when cited papers
    cite nothing, all linked papers are positives: the published code gives such papers no triplet.
    """

    names: Sequence[str]
    strengths: LinkStrengths
    triplets: int = 5
    hard_share: float = 0.3
    margin: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.triplets < 1 or not 0 <= self.hard_share <= 1 or not 0 <= self.margin < 1:
            raise InputError(
                f"{self.triplets} triplets, {self.hard_share} of them hard, margin {self.margin}: at least 1 "
                "triplet, a share from 0 to 1 and a margin from 0 to less than 1 are needed"
            )

    def __call__(self, query: tuple[int, int]) -> QuerySample:
        """Return the sample of a (row, turn); it depends on the row's name, the turn and the seed alone."""
        row, turn = query
        links = {other: strength for other, strength in self.strengths(row).items() if strength > 0}
        if not links:
            return QuerySample(dropped=((NO_STRENGTH, self.names[row]),))
        random = seeded_random(self.seed, self.names[row], turn)
        low, high = min(links.values()), max(links.values())
        whole = all(float(strength).is_integer() for strength in links.values())
        margin = 1.0 if whole and high - low == 1 else self.margin * (high - low)
        strong = [other for other in links if links[other] > low + margin] or [
            other for other in links if links[other] == high
        ]
        weak = [other for other in links if links[other] < high - margin]
        hard = min(math.ceil(self.hard_share * self.triplets), len(strong) * len(weak))
        found = []
        for _ in range(hard):
            negative = random.choice(weak)
            stronger = [other for other in links if links[other] > links[negative] + margin]
            found.append((random.choice(stronger), negative, WEAKER_LINK))
        excluded = {row, *links}
        for _ in range(self.triplets - hard):
            others = _sample_unlinked(random, len(self.names), excluded)
            found += [(random.choice(strong), other, RANDOM) for other in others]
        if not found:  # linked to all papers
            return QuerySample((random.choice(strong),), (), (NONE,))
        return QuerySample(*zip(*found, strict=True))


def _sample_unlinked(random: Random, size: int, excluded: set[int]) -> list[int]:
    """Sample a row that is not excluded; none if all are."""
    if 2 * len(excluded) > size:
        return sample_outside(random, size, excluded, 1)
    while (row := random.randrange(size)) in excluded:
        pass
    return [row]


def sample_triplets(
    sample: Callable[[tuple[int, int]], QuerySample],
    queries: Iterable[tuple[int, int]],
    *,
    workers: int = 1,
    report: SampleReport,
) -> Iterator[tuple[int, QuerySample]]:
    """Yield (row, its sample) for each (row, turn) that has one, in order."""
    queries = list(queries)
    for (row, _), found in zip(queries, sample_in_parallel(sample, queries, workers), strict=True):
        if report.add(found):
            yield row, found

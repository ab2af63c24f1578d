"""Triplets from the neighbours of a paper in a citation graph's embedding (SciNCL, 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import Rows
from sciprism.prepare.graphs.neighbours import able, nearest
from sciprism.prepare.samplers.drawing import RANDOM, Draw, Sampled, chance, check_numbers, lowest
from sciprism.prepare.samplers.linked import ALONE

FAR = "neighbour of a far rank"
NO_EASY = "too few papers beyond the neighbours"
WHOLE = ("triplets", "hard", "near_width", "far_width", "most", "dim", "seed")
TRIES = 50
"""Random draws before all that may be drawn is written out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SciNCL:
    """Sample, for each paper, near neighbours as positives, far neighbours and strangers as negatives.

    triplets: of one query; hard: of them with a far neighbour as negative. near, far: ranks at which the
    bands of positives and of hard negatives end (k+ and k-): numbers, or shares of the papers that have
    neighbours. near_width, far_width: ranks in a band, 0 for as many as are drawn. easy_from: where the easy
    negatives, none of which is among the first `far` neighbours, come from; the published code took them
    from the queries. most: papers that are asked about, 0 for all. dim: of the vectors.
    """

    triplets: int = 5
    hard: int = 2
    near: int | float = 25
    far: int | float = 4000
    near_width: int = 0
    far_width: int = 0
    easy_from: Literal["corpus", "queries"] = "corpus"
    most: int = 0
    dim: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=WHOLE, other=("near", "far"))
        if not 0 <= self.hard <= self.triplets or self.triplets < 1 or self.most < 0:
            raise InputError(
                f"{self.triplets} triplets, {self.hard} of them hard, most {self.most}: at least 1 triplet, "
                "0 to all of them hard and 0 (all) or more queries are needed"
            )
        if self.easy_from not in ("corpus", "queries"):
            raise InputError(f"easy negatives from {self.easy_from!r}; known: corpus, queries")
        for name, width, count in (
            ("near", self.near_width, self.triplets),
            ("far", self.far_width, self.hard),
        ):
            if width and width < count:
                raise InputError(f"{name}_width {width} is narrower than the {count} that are drawn from it")

    def bands(self, corpus: int) -> tuple[range, range]:
        """Return the ranks, from 0, of the positives and of the hard negatives among `corpus` papers.

        Raises InputError where a band begins before rank 0, goes beyond the graph, or where they overlap.
        """
        near = _band("near", self.near, self.near_width or self.triplets, corpus)
        far = _band("far", self.far, self.far_width or self.hard, corpus)
        if far.start < near.stop:
            raise InputError(
                f"the far band, ranks {far.start} to {far.stop}, begins before the near band ends at "
                f"{near.stop}, in a graph of {corpus} papers with citations; set far higher or near lower"
            )
        return near, far

    def draws(
        self,
        names: Sequence[str],
        vectors: NDArray[np.float32],
        queries: Iterable[tuple[int, int]],
        *,
        workers: int = 1,
        report: Sampled,
    ) -> Iterator[tuple[int, Draw]]:
        """Yield what is drawn for each query, as rows of names, in the order of the rows.

        vectors: (names, dim), as of `embed_graph`. queries: (row, turn); those without a vector are counted,
        and each turn of one is drawn anew, as far as the bands are wider than what is drawn from them. The
        triplets are zipped as published: the nearest positives meet easy negatives, the last ones hard
        negatives. workers: threads; any number gives the same draws.
        """
        rows = able(vectors)
        near, far = self.bands(len(rows))
        turns = self._asked(names, rows, queries, report.dropped)
        asked = np.array([*turns], np.int32)
        pool = asked if self.easy_from == "queries" else np.arange(len(names), dtype=np.int32)
        ranks = nearest(vectors, asked, far.stop, workers=workers)
        for (row, own), ranked in zip(turns.items(), ranks, strict=True):
            for turn in own:
                found = self._draw(chance(self.seed, names[row], turn), row, ranked, (near, far), pool)
                if found is None:
                    report.dropped.add(NO_EASY, names[row])
                    continue
                report.add(found)
                yield row, found

    def _asked(
        self, names: Sequence[str], rows: Rows, queries: Iterable[tuple[int, int]], dropped: DropReport
    ) -> dict[int, list[int]]:
        """Return row -> its turns, rows ascending, of those that have a vector."""
        there = {*rows.tolist()}
        turns: dict[int, list[int]] = defaultdict(list)
        for row, turn in sorted(queries):
            if row in there:
                turns[row].append(turn)
            else:
                dropped.add(ALONE, names[row])
        asked = [*turns]
        kept = lowest([names[row] for row in asked], self.most, self.seed, dropped)
        return {asked[at]: turns[asked[at]] for at in kept}

    def _draw(
        self, random: Random, row: int, ranked: Rows, bands: tuple[range, range], pool: Rows
    ) -> Draw | None:
        near, far = bands
        positives = ranked[_some(random, near, self.triplets)].tolist()
        hard = ranked[_some(random, far, self.hard)].tolist()
        easy = _others(random, pool, {row, *ranked.tolist()}, self.triplets - self.hard)
        if len(easy) < self.triplets - self.hard:
            return None
        kinds = (*[RANDOM] * len(easy), *[FAR] * len(hard))
        return Draw(tuple(positives), (*easy, *hard), kinds)


def _band(name: str, end: int | float, width: int, corpus: int) -> range:
    stop = round(end * corpus) if isinstance(end, float) and end < 1 else int(end)
    if stop < max(1, width) or stop > corpus - 1 or (end > 1 and stop != end):
        raise InputError(
            f"{name} {end}: a band of {width} ranks that ends at rank {stop} does not fit a graph of "
            f"{corpus} papers with citations, where a paper has {max(0, corpus - 1)} neighbours; set {name} "
            f"to a number between {max(1, width)} and {max(0, corpus - 1)}, or to a share of the papers"
        )
    return range(stop - width, stop)


def _some(random: Random, band: range, count: int) -> list[int]:
    """Draw ranks of a band, ascending; all of them where it is no wider."""
    return list(band) if len(band) == count else sorted(random.sample(band, count))


def _others(random: Random, pool: Rows, barred: set[int], count: int) -> list[int]:
    """Draw `count` different rows of the pool that are not barred, fewer where there are not so many."""
    found: list[int] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            return found
        other = int(pool[random.randrange(len(pool))])
        if other not in barred and other not in found:
            found.append(other)
    left = [other for other in pool.tolist() if other not in barred and other not in found]
    return found + random.sample(left, min(count - len(found), len(left)))

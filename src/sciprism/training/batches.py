"""Which examples each step of a stage takes: a pure function of the sources' sizes, the seed and the step.

A batch is parts, each a source and rows of it. One file of strategies: `one-source` is SciMult's, `equal` is
SciRepEval's (task-heterogeneous), `proportional` and `sequential` are those it was compared with.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sciprism import seeding as chance
from sciprism.arrays import Rows
from sciprism.registry import Registry

Part = tuple[int, Rows]


@dataclass(frozen=True)
class Plan(ABC):
    """Batches of `batch` examples; an epoch goes through every source as often as its rate says.

    sizes, rates: examples of each source, and how often an epoch takes them. All order is drawn anew in each
    epoch. The examples that fill no whole batch wait for another epoch.
    """

    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    batch: int
    seed: int

    @property
    @abstractmethod
    def epoch(self) -> int:
        """Return the batches of one epoch, at least one."""

    @abstractmethod
    def _parts(self, epoch: int, place: int) -> Sequence[Part]:
        """Return a batch of an epoch."""

    def __getitem__(self, number: int) -> tuple[Part, ...]:
        """Return the parts of a batch, counted from 0 through all epochs: source and rows (n,) of each."""
        return tuple(self._parts(*divmod(number, self.epoch)))

    @property
    def amounts(self) -> tuple[int, ...]:
        """Return how many examples of each source an epoch takes, at least one."""
        return tuple(max(1, int(s * r + 1e-9)) for s, r in zip(self.sizes, self.rates, strict=True))

    def _rows(self, epoch: int, source: int, first: int, last: int) -> Rows:
        """Return examples `first` to `last` of an epoch's way through a source, shuffled at each turn."""
        size = self.sizes[source]
        turns = range(first // size, (last - 1) // size + 1)
        order = [_shuffled(size, self.seed, epoch, source, turn) for turn in turns]
        return np.concatenate(order)[first - turns[0] * size : last - turns[0] * size]


mixings: Registry[type[Plan]] = Registry("mixing")


@mixings.register("one-source")
class OneSource(Plan):
    """Each batch from one source, their order drawn (SciMult's data iterator).

    A source smaller than a batch gives all it has.
    """

    shuffled = True

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the batches of each source in one epoch, at least one."""
        sources = zip(self.sizes, self.rates, strict=True)
        return tuple(max(1, math.floor(max(1, size // self.batch) * rate)) for size, rate in sources)

    @property
    def epoch(self) -> int:
        """Return the batches of one epoch."""
        return sum(self.counts)

    def _parts(self, epoch: int, place: int) -> Sequence[Part]:
        source, part = (int(each) for each in _order(self, epoch)[place])
        size = self.sizes[source]
        turn, place = divmod(part, max(1, size // self.batch))
        shuffled = _shuffled(size, self.seed, epoch, source, turn)
        return [(source, shuffled[place * self.batch : (place + 1) * self.batch])]


@mixings.register("sequential")
class Sequential(OneSource):
    """Each batch from one source, one source after the other."""

    shuffled = False


@mixings.register("equal")
class Equal(Plan):
    """Each batch from all sources, in like shares (SciRepEval: task-heterogeneous batches).

    A source that is at its end is not begun anew: the others fill its place until too few are left.
    """

    @property
    def epoch(self) -> int:
        """Return the batches of one epoch."""
        return len(_ends(self))

    def _parts(self, epoch: int, place: int) -> Sequence[Part]:
        ends = _ends(self)
        starts = ends[place - 1] if place else np.zeros_like(ends[0])
        taken = [(int(a), int(b)) for a, b in zip(starts, ends[place], strict=True)]
        return [(s, self._rows(epoch, s, a, b)) for s, (a, b) in enumerate(taken) if b > a]


@mixings.register("proportional")
class Proportional(Plan):
    """Each batch drawn from all examples alike, so that large sources have large shares."""

    @property
    def epoch(self) -> int:
        """Return the batches of one epoch."""
        return max(1, sum(self.amounts) // self.batch)

    def _parts(self, epoch: int, place: int) -> Sequence[Part]:
        drawn = _pool(self, epoch)[place * self.batch : (place + 1) * self.batch]
        ends = np.cumsum(self.amounts)
        sources = np.searchsorted(ends, drawn, side="right")
        starts = ends - np.array(self.amounts)
        return [(int(s), (drawn[sources == s] - starts[s]) % self.sizes[s]) for s in np.unique(sources)]


@lru_cache(maxsize=2)
def _order(plan: OneSource, epoch: int) -> Rows:
    pairs = np.array([(s, part) for s, count in enumerate(plan.counts) for part in range(count)], np.int64)
    return pairs[_draws(plan.seed, epoch).permutation(len(pairs))] if plan.shuffled else pairs


@lru_cache(maxsize=2)
def _ends(plan: Equal) -> Rows:
    """Return how much of each source an epoch has taken after each batch, (batches, sources)."""
    left = np.array(plan.amounts)
    shares: list[Rows] = []
    while left.sum() >= plan.batch or not shares:
        share = np.zeros_like(left)
        order = np.argsort(left, kind="stable")
        room = min(plan.batch, int(left.sum()))
        for rank, source in enumerate(order):  # who has the least first: others fill what it cannot
            share[source] = min(left[source], room // (len(order) - rank))
            room -= share[source]
        shares.append(share)
        left -= share
    return np.cumsum(shares, axis=0)


@lru_cache(maxsize=2)
def _pool(plan: Proportional, epoch: int) -> Rows:
    return _draws(plan.seed, epoch).permutation(sum(plan.amounts))


@lru_cache(maxsize=64)
def _shuffled(size: int, seed: int, epoch: int, source: int, turn: int) -> Rows:
    return _draws(seed, epoch, source, turn).permutation(size)


def tempered(sizes: Sequence[int], power: float) -> tuple[float, ...]:
    """Return how often an epoch goes through each source so that it counts by its size to a power.

    1: once. 0: all sources count alike. The examples of an epoch are as many as without.
    """
    weights = [size**power for size in sizes]
    return tuple(
        sum(sizes) * weight / sum(weights) / size for size, weight in zip(sizes, weights, strict=True)
    )


def _draws(*numbers: int) -> np.random.Generator:
    return np.random.default_rng(numbers)


def mixed(*parts: object) -> int:
    """Return 63 bits that all parts decide: the seed of one draw, the same on every machine."""
    return chance.random_bits(*parts) >> 1


def share(parts: Sequence[Part], rank: int, count: int) -> list[Part]:
    """Return a process's slice of a batch, all its parts, some of which may have no row.

    Slices are as long as each other: what does not divide, laid end to end, is left out.
    """
    ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
    size = int(ends[-1]) // count
    first, last = rank * size, (rank + 1) * size
    bounds = [np.clip([first - start, last - start], 0, None) for start in ends[:-1]]
    return [(source, rows[a:b]) for (source, rows), (a, b) in zip(parts, bounds, strict=True)]

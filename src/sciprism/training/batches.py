"""Which examples each step of a stage takes: a pure function of the sources' sizes, the seed and the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sciprism import chance

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """One source in each batch; an epoch goes through every source as often as its rate says.

    sizes, rates: examples of each source, and how often an epoch takes them. The order of the sources'
    batches and of the examples in them is drawn anew in each epoch (SciMult's data iterator). The examples
    that fill no whole batch wait for another epoch; a source smaller than a batch gives all it has.
    """

    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    batch: int
    seed: int

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the batches of each source in one epoch, at least one."""
        sources = zip(self.sizes, self.rates, strict=True)
        return tuple(max(1, math.floor(max(1, size // self.batch) * rate)) for size, rate in sources)

    @property
    def epoch(self) -> int:
        """Return the batches of one epoch."""
        return sum(self.counts)

    def __getitem__(self, number: int) -> tuple[int, Rows]:
        """Return the source and the rows (B,) of a batch, counted from 0 through all epochs."""
        epoch, place = divmod(number, self.epoch)
        source, part = (int(each) for each in _order(self, epoch)[place])
        size = self.sizes[source]
        turn, place = divmod(part, max(1, size // self.batch))
        shuffled = _shuffled(size, self.seed, epoch, source, turn)
        return source, shuffled[place * self.batch : (place + 1) * self.batch]


@lru_cache(maxsize=2)
def _order(plan: Plan, epoch: int) -> Rows:
    pairs = [(source, part) for source, count in enumerate(plan.counts) for part in range(count)]
    return np.array(pairs, np.int64)[_draws(plan.seed, epoch).permutation(len(pairs))]


@lru_cache(maxsize=16)
def _shuffled(size: int, seed: int, epoch: int, source: int, turn: int) -> Rows:
    return _draws(seed, epoch, source, turn).permutation(size)


def _draws(*numbers: int) -> np.random.Generator:
    return np.random.default_rng(numbers)


def mixed(*parts: object) -> int:
    """Return 63 bits that all parts decide: the seed of one draw, the same on every machine."""
    return chance.number(*parts) >> 1


def share(rows: Sequence[int], rank: int, count: int) -> Sequence[int]:
    """Return a process's slice of a batch; what does not divide is left out: all get equally many."""
    size = len(rows) // count
    return rows[rank * size : (rank + 1) * size]

"""Batches, and which examples each takes: a pure function of the sources' sizes, the seed and the step.

A batch has parts, each a source and rows of it. Mixings: `one-source` is SciMult's, `equal` is SciRepEval's
(task-heterogeneous), `mixed` and `sequential` are those it was compared with.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.formats import Format, Role
from sciprism.registry import Registry
from sciprism.training.examples import Example, to_row

Ids = NDArray[np.int64]  # token ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Examples of one source for one process, or blocks of tokens.

    seed: of all random choices in the step. block_seeds: one for each block, the same in any process.
    """

    examples: Sequence[Example] = ()
    blocks: Sequence[Ids] = ()
    block_seeds: Sequence[int] = ()
    format: Format = "proximity"
    query: Role = "paper"
    candidate: Role = "paper"
    seed: int

    def __len__(self) -> int:
        return len(self.examples) or len(self.blocks)

    def lines(self) -> Iterator[str]:
        """Yield a line of JSON for each example or block."""
        yield from (json.dumps(to_row(example), ensure_ascii=False) for example in self.examples)
        yield from (json.dumps({"tokens": block.tolist()}) for block in self.blocks)


BatchPart = tuple[int, Rows]  # a source, by its position in the stage, and rows of it


@dataclass(frozen=True)
class BatchPlan(ABC):
    """Batches of `batch_size` examples; an epoch passes `repeats` times over each source.

    sizes: examples of each source. Every epoch has another random order. Examples that fill no whole batch
    are not used in that epoch.
    """

    sizes: tuple[int, ...]
    repeats: tuple[float, ...]
    batch_size: int
    seed: int

    @property
    @abstractmethod
    def epoch(self) -> int:
        """Return the number of batches of an epoch, at least one."""

    @abstractmethod
    def _parts(self, epoch: int, position: int) -> Sequence[BatchPart]:
        """Return a batch of an epoch."""

    def __getitem__(self, number: int) -> tuple[BatchPart, ...]:
        """Return the parts of a batch, counted from 0 through all epochs: source and rows (n,) of each."""
        return tuple(self._parts(*divmod(number, self.epoch)))

    @property
    def amounts(self) -> tuple[int, ...]:
        """Return the number of examples of each source in an epoch, at least one."""
        return tuple(max(1, int(s * r + 1e-9)) for s, r in zip(self.sizes, self.repeats, strict=True))

    def _rows(self, epoch: int, source: int, first: int, last: int) -> Rows:
        """Return rows `first` to `last` of a source in an epoch, shuffled anew in each pass over it."""
        size = self.sizes[source]
        passes = range(first // size, (last - 1) // size + 1)
        order = [_shuffled(size, self.seed, epoch, source, number) for number in passes]
        return np.concatenate(order)[first - passes[0] * size : last - passes[0] * size]


mixings: Registry[type[BatchPlan]] = Registry("mixing")


@mixings.register("one-source")
class OneSourcePlan(BatchPlan):
    """Each batch from one source, in random order (SciMult's data iterator).

    A source smaller than a batch is taken whole.
    """

    shuffled = True

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of batches of each source in an epoch, at least one."""
        return tuple(
            max(1, math.floor(max(1, size // self.batch_size) * repeat))
            for size, repeat in zip(self.sizes, self.repeats, strict=True)
        )

    @property
    def epoch(self) -> int:
        """Return the number of batches of an epoch."""
        return sum(self.counts)

    def _parts(self, epoch: int, position: int) -> Sequence[BatchPart]:
        source, number = (int(value) for value in _order(self, epoch)[position])
        size = self.sizes[source]
        turn, batch = divmod(number, max(1, size // self.batch_size))
        shuffled = _shuffled(size, self.seed, epoch, source, turn)
        return [(source, shuffled[batch * self.batch_size : (batch + 1) * self.batch_size])]


@mixings.register("sequential")
class SequentialPlan(OneSourcePlan):
    """Each batch from one source, one source after the other."""

    shuffled = False


@mixings.register("equal")
class EqualPlan(BatchPlan):
    """Each batch from all sources, in equal shares (SciRepEval: task-heterogeneous batches).

    A source that is used up is not restarted: the others fill its share until too few examples remain.
    """

    @property
    def epoch(self) -> int:
        """Return the number of batches of an epoch."""
        return len(_ends(self))

    def _parts(self, epoch: int, position: int) -> Sequence[BatchPart]:
        ends = _ends(self)
        starts = ends[position - 1] if position else np.zeros_like(ends[0])
        bounds = enumerate(zip(starts.tolist(), ends[position].tolist(), strict=True))
        return [(source, self._rows(epoch, source, a, b)) for source, (a, b) in bounds if b > a]

    def share(self, left: Rows, room: int, random: np.random.Generator) -> Rows:  # noqa: ARG002 (of mixed)
        """Return how many of the next `room` examples are of each source, which has some left: (sources,) each."""
        share, order = np.zeros_like(left), np.argsort(left, kind="stable")
        for rank, source in enumerate(order):  # the smallest first: others fill what it cannot
            share[source] = min(left[source], room // (len(order) - rank))
            room -= share[source]
        return share


@mixings.register("mixed")
class MixedPlan(EqualPlan):
    """Each example from any source that has some left, all equally likely (SciRepEval's "mixed random" batches)."""

    def share(self, left: Rows, room: int, random: np.random.Generator) -> Rows:
        """Draw a source for each example; those that a source lacks are drawn again from the others."""
        share = np.zeros_like(left)
        while missing := room - int(share.sum()):
            drawn = random.choice(np.flatnonzero(left > share), missing)
            share = np.minimum(share + np.bincount(drawn, minlength=len(left)), left)
        return share


@lru_cache(maxsize=2)
def _order(plan: OneSourcePlan, epoch: int) -> Rows:
    """Return source and number of each batch of an epoch, (batches, 2)."""
    pairs = np.array([(s, n) for s, count in enumerate(plan.counts) for n in range(count)], np.int64)
    order = np.random.default_rng((plan.seed, epoch)).permutation(len(pairs))
    return pairs[order] if plan.shuffled else pairs


@lru_cache(maxsize=2)
def _ends(plan: EqualPlan) -> Rows:
    """Return the examples used of each source after each batch of an epoch, (batches, sources)."""
    left, random = np.array(plan.amounts), np.random.default_rng(plan.seed)
    shares: list[Rows] = []
    while left.sum() >= plan.batch_size or not shares:
        shares.append(plan.share(left, min(plan.batch_size, int(left.sum())), random))
        left -= shares[-1]
    return np.cumsum(shares, axis=0)


@lru_cache(maxsize=64)
def _shuffled(size: int, seed: int, epoch: int, source: int, turn: int) -> Rows:
    return np.random.default_rng((seed, epoch, source, turn)).permutation(size)


def split_parts(parts: Sequence[BatchPart], rank: int, count: int) -> list[BatchPart]:
    """Return a process's slice of a batch, with all parts, some of which may have no row.

    The slices of the parts, laid end to end, have equal lengths; the remainder is dropped.
    """
    ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
    size = int(ends[-1]) // count
    first, last = rank * size, (rank + 1) * size
    bounds = [np.clip([first - start, last - start], 0, None) for start in ends[:-1]]
    return [(source, rows[a:b]) for (source, rows), (a, b) in zip(parts, bounds, strict=True)]

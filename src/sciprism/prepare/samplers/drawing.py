"""What samplers share: chance that a seed and names alone decide, work on several processes, a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import islice
from math import isfinite
from random import Random
from typing import Any, NamedTuple, TypeVar

from sciprism.cores import on_processes
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_bits, random_fraction

K = TypeVar("K")
R = TypeVar("R")

NONE = "none"
"""The kind of a negative that is not there."""
RANDOM = "random"
"""The kind of a negative that is any other candidate."""
PIECE = 256
"""Queries that a process is handed at a time."""


class Draw(NamedTuple):
    """What was drawn for one query, as rows of candidates.

    kinds: of the negative of each positive; `NONE` where there is none. dropped: (reason, id).
    """

    positives: tuple[int, ...] = ()
    negatives: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Sampled:
    """What a sampler made so far, and what it dropped and why; it grows as the examples are taken.

    queries: examples. pairs: (query, positive). negatives: kind of the pair's negative -> how many pairs.
    """

    queries: int = 0
    pairs: int = 0
    negatives: Counter[str] = field(default_factory=Counter)
    dropped: DropReport = field(default_factory=DropReport)

    def add(self, draw: Draw) -> bool:
        """Take in one draw; tell whether it is an example."""
        for reason, name in draw.dropped:
            self.dropped.add(reason, name)
        self.queries += bool(draw.positives)
        self.pairs += len(draw.positives)
        self.negatives.update(draw.kinds)
        return bool(draw.positives)

    @property
    def hard(self) -> int:
        """Return how many pairs have a hard negative."""
        return self.negatives.total() - self.negatives[NONE] - self.negatives[RANDOM]

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return {
            "queries": self.queries,
            "pairs": self.pairs,
            "negatives": dict(sorted(self.negatives.items())),
            "dropped": self.dropped.to_json(),
        }


def chance(seed: int, *names: object) -> Random:
    """Return a source of random numbers that the seed and the names alone decide."""
    return Random(random_bits(seed, *names))


def check_numbers(sampler: object, *, whole: Iterable[str], other: Iterable[str] = ()) -> None:
    """Raise InputError where one of a sampler's options is no number, no whole one, or a count below 0."""
    whole = [*whole]
    for name in (*whole, *other):
        value = getattr(sampler, name)
        number = isinstance(value, int if name in whole else int | float) and not isinstance(value, bool)
        if not number or not isfinite(value):
            raise InputError(f"{name} is {value!r}, not a {'whole ' * (name in whole)}number")
        if value < 0 and name in whole and name != "seed":
            raise InputError(f"{name} is {value}; it counts something")


def lowest(names: Sequence[str], most: int, seed: int, dropped: DropReport) -> list[int]:
    """Return the positions of the `most` names that hash lowest, in their order; all for 0."""
    if not most or len(names) <= most:
        return list(range(len(names)))
    kept = sorted(nsmallest(most, range(len(names)), key=lambda row: random_fraction(seed, names[row])))
    for row in sorted({*range(len(names))}.difference(kept)):
        dropped.add("beyond the number asked for", names[row])
    return kept


def drawn(draw: Callable[[K], R], queries: Iterable[K], workers: int = 1) -> Iterator[R]:
    """Yield draw(query) of each query, in order, on as many processes as asked for.

    draw: goes to each process once and must survive pickling; 1 worker is this process itself. Only a few
    pieces of the queries are under way at any time.
    """
    if workers == 1:
        yield from map(draw, queries)
        return
    rest = iter(queries)
    pieces = iter(lambda: list(islice(rest, PIECE)), [])
    for found in on_processes(partial(_draw_each, draw), pieces, workers):
        yield from found


def _draw_each(draw: Callable[[K], R], piece: list[K]) -> list[R]:
    return [draw(query) for query in piece]

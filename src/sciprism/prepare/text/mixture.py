"""Mix the texts of several sources: each as often as it weighs, spread evenly over the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from math import floor

import numpy as np
from numpy.typing import NDArray

from sciprism.prepare.text.sources import Gathered
from sciprism.seeding import random_fraction

Passes = list[NDArray[np.bool_]]


def held_out(gathered: Gathered, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which kept documents are dev: a share, by a hash of the text."""
    return _drawn(gathered, gathered.kept, share, seed, "dev")


def passes_of(gathered: Gathered, train: NDArray[np.bool_], seed: int) -> Passes:
    """Return which documents each pass through a source takes: all, and in the last a share by a hash."""
    whole = floor(gathered.source.weight)
    rest = gathered.source.weight - whole
    return [train] * whole + ([_drawn(gathered, train, rest, seed, "weight")] if rest else [])


def interleaved(sources: Sequence[Gathered], passes: Sequence[Passes]) -> Iterator[tuple[int, str]]:
    """Yield (number of the source, text) so that at any point all sources are through by the same share.

    The share is of characters. Each source keeps its order.
    """
    totals = [
        sum(int(each.sizes[one].sum()) for one in mine) for each, mine in zip(sources, passes, strict=True)
    ]
    streams = [each.texts(mine) for each, mine in zip(sources, passes, strict=True)]
    done = [0] * len(sources)
    waiting: list[tuple[float, int, str]] = []

    def upcoming(number: int) -> tuple[float, int, str] | None:
        text = next(streams[number], None)
        return None if text is None else ((done[number] + len(text) / 2) / totals[number], number, text)

    waiting = [found for number in range(len(sources)) if (found := upcoming(number))]
    heapify(waiting)
    while waiting:
        _, number, text = waiting[0]
        yield number, text
        done[number] += len(text)
        if following := upcoming(number):
            heapreplace(waiting, following)
        else:
            heappop(waiting)


def _drawn(
    gathered: Gathered, chosen: NDArray[np.bool_], share: float, seed: int, purpose: str
) -> NDArray[np.bool_]:
    drawn = np.zeros(len(chosen), np.bool_)
    if share:
        for row in np.flatnonzero(chosen).tolist():
            drawn[row] = random_fraction(seed, purpose, int(gathered.keys[row])) < share
    return drawn

"""Mix the texts of several sources: each as often as its weight, spread evenly over the mixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import floor

import numpy as np
from numpy.typing import NDArray

from sciprism.prepare.text.sources import FilteredSource
from sciprism.seeding import random_fraction

Passes = list[NDArray[np.bool_]]


def held_out_mask(source: FilteredSource, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which retained documents are dev: a share, by a hash of the text."""
    return _sample_mask(source, source.retained, share, seed, "dev")


def plan_passes(source: FilteredSource, train: NDArray[np.bool_], seed: int) -> Passes:
    """Return the documents of each pass through a source: all, and in the last one a share by hash."""
    whole = floor(source.source.weight)
    rest = source.source.weight - whole
    return [train] * whole + ([_sample_mask(source, train, rest, seed, "weight")] if rest else [])


def interleave_texts(sources: Sequence[FilteredSource], passes: Sequence[Passes]) -> Iterator[tuple[int, str]]:
    """Yield (number of the source, text) so that all sources advance by the same share of their characters.

    Each source keeps its order.
    """
    totals = [sum(int(each.sizes[one].sum()) for one in own) for each, own in zip(sources, passes, strict=True)]
    streams = [each.texts(own) for each, own in zip(sources, passes, strict=True)]
    done = [0] * len(sources)

    def upcoming(number: int) -> tuple[float, int, str] | None:
        text = next(streams[number], None)
        return None if text is None else ((done[number] + len(text) / 2) / totals[number], number, text)

    queue = sorted(found for number in range(len(sources)) if (found := upcoming(number)))
    while queue:
        _, number, text = heappop(queue)
        yield number, text
        done[number] += len(text)
        if following := upcoming(number):
            heappush(queue, following)


def _sample_mask(
    source: FilteredSource, chosen: NDArray[np.bool_], share: float, seed: int, purpose: str
) -> NDArray[np.bool_]:
    sampled = np.zeros(len(chosen), np.bool_)
    if share:
        for row in np.flatnonzero(chosen).tolist():
            sampled[row] = random_fraction(seed, purpose, int(source.keys[row])) < share
    return sampled

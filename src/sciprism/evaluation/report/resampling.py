"""What results would have been on other items, and had it not mattered which system an item's result is from.

All that is drawn depends on the task and its items alone. So two systems see the same samples, and their
difference is a paired one; so do two metrics of a task; tasks are drawn apart from each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation import item_scores as evidences
from sciprism.evaluation.aggregates import aggregates
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.report.entrants import Run
from sciprism.evaluation.stored_results import read_items

SAMPLES = 1000
"""Bootstrap samples: the ends of a 95% interval then vary by about a twentieth of its length."""
SWAPS = 2000
"""Random swaps: the least p is 1 in 2001, so that one in a hundred tasks can pass Holm's correction."""
CELLS = 4_000_000
"""Weights held in memory at once."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A metric on every sample; `items` says of what: two results pair where it is the same."""

    items: tuple[int, str, int]
    values: Doubles


class Resampler:
    """Draw the distributions of results, and remember them."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._samples: dict[tuple[int, str], _Drawn | None] = {}
        self._swaps: dict[tuple[int, int, str], Doubles] = {}
        self._last: tuple[int, list[Doubles]] = (0, [])

    def mean(self, numbers: Sequence[tuple[Run, str]]) -> Doubles | None:
        """Return the bootstrap of the mean of some metrics of some runs; None where items are missing."""
        drawn = [found.values for run, metric in numbers if (found := self._draw(run, metric))]
        return mean(drawn) if drawn and len(drawn) == len(numbers) else None

    def unpaired(self, run: Run, other: Run, metric: str) -> str:
        """Say why a metric of two runs cannot be compared item by item, or nothing if it can."""
        mine, theirs = self._draw(run, metric), self._draw(other, metric)
        if mine is None or theirs is None:
            return "the items behind the numbers are missing, so the difference is not tested"
        return "" if mine.items == theirs.items else "other items were scored than for the baseline"

    def swapped(self, pairs: Sequence[tuple[Run, Run, str]]) -> Doubles:
        """Return the mean difference of some pairs whose items' results change sides at random, (SWAPS,)."""
        return mean([self._swap(*pair) for pair in pairs])

    def _draw(self, run: Run, metric: str) -> _Drawn | None:
        place = (id(run), metric)
        if place not in self._samples:
            items = _read(run, metric)
            self._samples[place] = self._drawn(items) if items else None
        return self._samples[place]

    def _drawn(self, items: Evidence) -> _Drawn:
        key = _key(items)
        values = [_statistic(items.aggregate, items.parts, w) for w in self._weights(key, len(items.ids))]
        return _Drawn((key, items.aggregate, len(items.parts)), np.concatenate(values))

    def _weights(self, key: int, items: int) -> Iterable[Doubles]:
        """Return the samples of some items; where they are few, as they were for the system before."""
        if key != self._last[0]:
            random = np.random.default_rng([self._seed, 0, key])
            if items * SAMPLES > CELLS:
                return _samples(items, random)
            self._last = (key, list(_samples(items, random)))
        return self._last[1]

    def _swap(self, run: Run, other: Run, metric: str) -> Doubles:
        place = (id(run), id(other), metric)
        if place not in self._swaps:
            mine, theirs = _read(run, metric), _read(other, metric)
            assert mine and theirs  # `unpaired` has said so
            random = np.random.default_rng([self._seed, 1, _key(mine)])
            self._swaps[place] = _swapped(mine, theirs, random)
        return self._swaps[place]


def _samples(items: int, random: np.random.Generator) -> Iterator[Doubles]:
    """Yield how often each item is drawn, (b, items), in blocks that make up all samples."""
    for size in _blocks(items, SAMPLES):
        drawn = random.integers(0, max(items, 1), (size, items)) + items * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * items).reshape(size, items).astype(np.float64)


def _swapped(mine: Evidence, theirs: Evidence, random: np.random.Generator) -> Doubles:
    """Return the difference of two results of the same items, (SWAPS,), each item's changing sides or not."""
    parts = evidences.mean_of([mine, theirs]).parts  # with the same classes in both
    half = len(parts) // 2
    both = [np.concatenate(pair) for pair in zip(parts[:half], parts[half:], strict=True)]
    gaps = []
    for size in _blocks(2 * len(mine.ids), SWAPS):
        away = random.integers(0, 2, (size, len(mine.ids))).astype(np.float64)
        sides = (np.hstack([1 - away, away]), np.hstack([away, 1 - away]))
        one, two = (_statistic(mine.aggregate, both, weights) for weights in sides)
        gaps.append(one - two)
    return np.concatenate(gaps)


def mean(draws: Sequence[Doubles]) -> Doubles:
    """Return the mean of several distributions, draw by draw."""
    found: Doubles = np.mean(draws, axis=0)
    return found


def _read(run: Run, metric: str) -> Evidence | None:
    """Return the items behind a metric in order of id, or nothing where they are missing."""
    items = read_items(run.home, run.result.task, metric) if run.home else None
    if items is None:
        return None
    order = np.argsort(np.array(items.ids, dtype=np.str_), kind="stable")
    return replace(
        items,
        ids=tuple(items.ids[i] for i in order),
        columns=items.columns[order],
        more=tuple(part[order] for part in items.more),
    )


def _key(items: Evidence) -> int:
    text = "\n".join(items.ids)  # tasks over the same items are drawn alike
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _statistic(aggregate: str, parts: Sequence[Doubles], weights: Doubles) -> Doubles:
    statistic: Callable[[Doubles, Doubles], Doubles] = aggregates[aggregate].statistic
    return mean([statistic(part, weights) for part in parts])


def _blocks(rows: int, wanted: int) -> Iterator[int]:
    step = max(1, CELLS // max(rows, 1))
    for start in range(0, wanted, step):
        yield min(step, wanted - start)

"""Bootstrap and randomisation: results on resampled items, and with systems swapped item by item.

The random numbers depend on the task and its items alone. So two systems, and two metrics of a task, see the
same samples, and their differences are paired; tasks are resampled independently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.bootstrap import CELLS, evaluate_aggregate, resample, swapped_differences
from sciprism.evaluation.item_scores import ItemScores, align_classes
from sciprism.evaluation.report.system_results import StoredResult
from sciprism.evaluation.stored_results import find_item_scores

SAMPLES = 1000
"""Bootstrap samples; the ends of a 95% interval then vary by about a twentieth of its length."""
SWAPS = 2000
"""Random swaps; the smallest p is 1/2001, so that one in a hundred tasks can pass Holm's correction."""


@dataclass(frozen=True, slots=True)
class _Distribution:
    """A metric on every sample; two results are paired where `items` is the same."""

    items: tuple[int, str, int]
    values: Doubles


class Resampler:
    """Compute the bootstrap distributions of results, each once."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._samples: dict[tuple[int, str], _Distribution | None] = {}
        self._swaps: dict[tuple[int, int, str], Doubles] = {}
        self._last: tuple[int, list[Doubles]] = (0, [])

    def mean(self, numbers: Sequence[tuple[StoredResult, str]]) -> Doubles | None:
        """Return the bootstrap of the mean of some metrics of some runs; None where items are missing."""
        draws = [found.values for run, metric in numbers if (found := self._bootstrap(run, metric))]
        return mean_draws(draws) if draws and len(draws) == len(numbers) else None

    def unpaired(self, run: StoredResult, other: StoredResult, metric: str) -> str:
        """Return why a metric of two runs cannot be compared item by item, "" if it can."""
        mine, theirs = self._bootstrap(run, metric), self._bootstrap(other, metric)
        if mine is None or theirs is None:
            return "the items behind the numbers are missing, so the difference is not tested"
        return "" if mine.items == theirs.items else "other items were scored than for the baseline"

    def swapped(self, pairs: Sequence[tuple[StoredResult, StoredResult, str]]) -> Doubles:
        """Return the mean difference of some pairs with the items' results swapped at random, (SWAPS,)."""
        return mean_draws([self._swap(*pair) for pair in pairs])

    def _bootstrap(self, run: StoredResult, metric: str) -> _Distribution | None:
        key = (id(run), metric)
        if key not in self._samples:
            self._samples[key] = None
            if items := _read_items(run, metric):
                number = _items_key(items)
                weights = self._weights(number, len(items.ids))
                values = [evaluate_aggregate(items.parts, items.aggregate, block) for block in weights]
                known = number, items.aggregate, len(items.parts)
                self._samples[key] = _Distribution(known, np.concatenate(values))
        return self._samples[key]

    def _weights(self, key: int, items: int) -> Iterable[Doubles]:
        """Return the samples of some items; those of few items are reused for the next system."""
        if key != self._last[0]:
            random = np.random.default_rng([self._seed, 0, key])
            if items * SAMPLES > CELLS:
                return resample(items, SAMPLES, random)
            self._last = (key, list(resample(items, SAMPLES, random)))
        return self._last[1]

    def _swap(self, run: StoredResult, other: StoredResult, metric: str) -> Doubles:
        key = (id(run), id(other), metric)
        if key not in self._swaps:
            mine, theirs = _read_items(run, metric), _read_items(other, metric)
            assert mine and theirs  # `unpaired` checked it
            random = np.random.default_rng([self._seed, 1, _items_key(mine)])
            self._swaps[key] = swapped_differences(*align_classes(mine, theirs), random, SWAPS)
        return self._swaps[key]


def mean_draws(draws: Sequence[Doubles]) -> Doubles:
    """Return the mean of several distributions, draw by draw."""
    found: Doubles = np.mean(draws, axis=0)
    return found


def _read_items(run: StoredResult, metric: str) -> ItemScores | None:
    """Return the item scores of a metric in order of id, None where they are missing."""
    items = find_item_scores(run.folder, run.result.task, metric) if run.folder else None
    return items and items.take(np.argsort(np.array(items.ids, dtype=np.str_), kind="stable"))


def _items_key(items: ItemScores) -> int:
    text = "\n".join(items.ids)  # tasks with the same items have the same samples
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])

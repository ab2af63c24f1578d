"""Bootstrap: results on resampled items.

The resamples depend on the items alone (`bootstrap.resample`). So two systems, and two metrics of a task, see
the same ones, and their differences are paired; tasks are resampled independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sciprism.arrays import Doubles
from sciprism.evaluation.bootstrap import CELLS, SAMPLES, draw_sample, items_key, resample, sort_items
from sciprism.evaluation.intervals import ItemSample, Samples, mean_samples
from sciprism.evaluation.report.system_results import StoredResult
from sciprism.evaluation.stored_results import find_item_scores


@dataclass(frozen=True, slots=True)
class _Distribution:
    """A metric on every sample; two results are paired where `items` is the same."""

    items: tuple[int, str, int]
    sample: ItemSample


class Resampler:
    """Compute the bootstrap distributions of results, each once."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._samples: dict[tuple[int, str], _Distribution | None] = {}
        self._last: tuple[int, list[Doubles]] = (0, [])

    def mean(self, numbers: Sequence[tuple[StoredResult, str]]) -> Samples | None:
        """Return the mean of some metrics of some runs; None where items are missing."""
        found = [known for run, metric in numbers if (known := self._bootstrap(run, metric))]
        if not found or len(found) < len(numbers):
            return None
        return mean_samples([{known.items[0]: known.sample} for known in found])

    def unpaired(self, run: StoredResult, other: StoredResult, metric: str) -> str:
        """Return why a metric of two runs cannot be compared item by item, "" if it can."""
        mine, theirs = self._bootstrap(run, metric), self._bootstrap(other, metric)
        if mine is None or theirs is None:
            return "the items behind the numbers are missing, so the difference is not tested"
        return "" if mine.items == theirs.items else "other items were scored than for the baseline"

    def _bootstrap(self, run: StoredResult, metric: str) -> _Distribution | None:
        key = (id(run), metric)
        if key not in self._samples:
            self._samples[key] = None
            items = find_item_scores(run.folder, run.result.task, metric) if run.folder else None
            if items:
                items = sort_items(items)
                number = items_key(items.ids)
                sample = draw_sample(items, self._weights(number, items.ids))
                self._samples[key] = _Distribution((number, items.aggregate, len(items.parts)), sample)
        return self._samples[key]

    def _weights(self, key: int, ids: Sequence[str]) -> Iterable[Doubles]:
        """Return the samples of some items; those of few items are reused for the next system."""
        if key != self._last[0]:
            if len(ids) * SAMPLES > CELLS:
                return resample(ids, SAMPLES, self._seed)
            self._last = (key, list(resample(ids, SAMPLES, self._seed)))
        return self._last[1]

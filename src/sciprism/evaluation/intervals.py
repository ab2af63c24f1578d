"""Scores of item scores with confidence intervals, differences with their test, and the bootstrap behind them.

A number has values on resamples of n items: their standard deviation is its standard error. Quantiles are Student's t
with n - 1 degrees of freedom.

score       Wilson's interval with the effective number of items, m (1 - m) / error^2, of a score m between 0
            and 1 (Wilson 1927; Korn and Graubard 1998); other bounds are rescaled. Without bounds, at either end
            the wider of Student's interval and Hall's (1992), which corrects for skewness.
difference  Student's interval. Its variance counts two further items, one for and one against (after Bonett and
            Price 2012), so that a difference that few items show is not certain. p is the level at which the
            interval ends at 0: p < 0.05 if and only if the 95% interval excludes 0.
average     Numbers of the same items are added resample by resample. Of independent scores, squared distances to
            the limits add up (Zou and Donner 2008); of differences, variances, with Satterthwaite's degrees of
            freedom (1946).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from sciprism.arrays import Doubles
from sciprism.evaluation.item_scores import ItemScores, aggregates, find_bounds

SAMPLES = 1000  # default number of resamples; a standard error then varies by 2%
CELLS = 4_000_000  # item weights held in memory at once


def estimate(item_scores: ItemScores) -> float:
    """Return the score; NaN without items or where the aggregate is undefined (correlation of a constant)."""
    if not item_scores.ids:
        return float("nan")
    return float(evaluate_aggregate(item_scores.parts, item_scores.aggregate, np.ones((1, len(item_scores.ids))))[0])


def bootstrap_interval(item_scores: ItemScores, *, seed: int = 0, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95% interval of the score (`intervals.score_interval`): its items are sampled with replacement.

    Resamples in which the aggregate is undefined are dropped; (NaN, NaN) where it is undefined in all.
    """
    ordered = sort_items(item_scores)
    return score_interval({0: draw_sample(ordered, resample(ordered.ids, samples, seed))})


def holm(p_values: ArrayLike) -> Doubles:
    """Correct p values (m,) for multiple tests (Holm 1979), in the order given; NaN stays and is not counted.

    The i-th smallest is multiplied by m - i + 1; no result is below one before it, none is above 1.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    corrected = np.full(given.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected


def evaluate_aggregate(parts: Sequence[Doubles], aggregate: str, weights: Doubles) -> Doubles:
    """Return the mean over the parts of an aggregate's value under each row of weights. (b, n) -> (b,)."""
    mean: Doubles = np.mean([aggregates[aggregate].statistic(part, weights) for part in parts], axis=0)
    return mean


def sort_items(item_scores: ItemScores) -> ItemScores:
    """Return the item scores in order of id, so that resamples do not depend on the order of a file."""
    return item_scores.take(np.argsort(np.array(item_scores.ids, dtype=np.str_), kind="stable"))


def items_key(ids: Sequence[str]) -> int:
    """Return a number that identifies some items: scores on the same items have the same resamples."""
    return int.from_bytes(hashlib.sha256("\n".join(ids).encode()).digest()[:8])


def resample(ids: Sequence[str], samples: int, seed: int) -> Iterator[Doubles]:
    """Yield how often each item is sampled, (b, items), in blocks that add up to `samples`; seeded by the ids."""
    items, random = len(ids), np.random.default_rng([seed, 0, items_key(ids)])
    step = max(1, CELLS // max(1, items))
    for start in range(0, samples if items else 0, step):
        size = min(step, samples - start)
        sampled = random.integers(0, items, (size, items)) + items * np.arange(size)[:, None]
        yield np.bincount(sampled.ravel(), minlength=size * items).reshape(size, items).astype(np.float64)


def draw_sample(item_scores: ItemScores, weights: Iterable[Doubles]) -> ItemSample:
    """Return a score and its values on resamples.

    Their deviations from the score are scaled by sqrt(n / (n - 1)): resamples vary less than samples do.
    """
    draws = [evaluate_aggregate(item_scores.parts, item_scores.aggregate, block) for block in weights]
    n, value = len(item_scores.ids), estimate(item_scores)
    scaled = value + (np.concatenate([np.empty(0), *draws]) - value) * math.sqrt(n / max(n - 1, 1))
    return ItemSample(value, scaled, n, find_bounds(item_scores.aggregate, item_scores.parts))


METHOD = "wilson-t"  # name of the method of stored intervals; results without a name have a percentile bootstrap's
LEVEL = 0.95
Bounds = tuple[float, float]
Limits = tuple[float, float]  # the low and the high end of an interval
TINY = 1e-12  # standard errors and differences below this are rounding errors


@dataclass(frozen=True, slots=True, eq=False)
class ItemSample:
    """A number that n items decide: its value, its values on resamples of them (b,), its smallest and largest value."""

    value: float
    draws: Doubles
    n: int
    bounds: Bounds

    def scaled(self, factor: float) -> ItemSample:
        """Return the number times a factor."""
        low, high = sorted(factor * bound for bound in self.bounds)
        return ItemSample(factor * self.value, factor * self.draws, self.n, (low, high))

    @property
    def error(self) -> float:
        """Return the standard error; resamples without a value are dropped, NaN without any."""
        defined = self.draws[~np.isnan(self.draws)]
        error = float(defined.std()) if len(defined) else math.nan
        return 0.0 if error < TINY else error

    @property
    def skewness(self) -> float:
        """Return the skewness of the values on resamples."""
        defined, error = self.draws[~np.isnan(self.draws)], self.error
        return float(((defined - defined.mean()) ** 3).mean()) / error**3 if error else 0.0


Samples = Mapping[int, ItemSample]
"""A number as a sum over independent sets of items, by the key of these items (`items_key`)."""


@dataclass(frozen=True, slots=True)
class SampledDifference:
    """A difference with its variance over items, the degrees of freedom, and its largest possible size."""

    value: float
    variance: float
    freedom: float
    limit: float = math.inf

    @property
    def p(self) -> float:
        """Return the two-sided p of Student's t; 1 without a variance, where all items agree."""
        if not self.variance:
            return 1.0
        return 2 * float(stdtr(self.freedom, -abs(self.value / math.sqrt(self.variance))))

    def interval(self) -> Limits:
        """Return the limits, not beyond the largest possible size."""
        half = quantile(self.freedom, LEVEL) * math.sqrt(self.variance)
        return min(max(self.value - half, -self.limit), self.value), max(min(self.value + half, self.limit), self.value)


def sum_samples(numbers: Sequence[Samples], weights: Sequence[float]) -> Samples:
    """Return the weighted sum of some numbers; those of the same items are added resample by resample."""
    total: dict[int, ItemSample] = {}
    for samples, weight in zip(numbers, weights, strict=True):
        for key, sample in samples.items():
            new, old = sample.scaled(weight), total.get(key)
            if old is not None:
                bounds = old.bounds[0] + new.bounds[0], old.bounds[1] + new.bounds[1]
                new = ItemSample(old.value + new.value, old.draws + new.draws, max(old.n, new.n), bounds)
            total[key] = new
    return total


def mean_samples(numbers: Sequence[Samples]) -> Samples:
    """Return the mean of some numbers."""
    return sum_samples(numbers, [1 / len(numbers)] * len(numbers))


def score_interval(samples: Samples, level: float = LEVEL) -> Limits:
    """Return the limits of a score; (NaN, NaN) where it is undefined, or one item has no known bounds."""
    limits = [_sample_limits(sample, level) for sample in samples.values()]
    return add_limits([sample.value for sample in samples.values()], limits)


def add_limits(values: Sequence[float], limits: Sequence[Limits]) -> Limits:
    """Return the limits of the sum of independent numbers with limits."""
    below = math.sqrt(sum((value - low) ** 2 for value, (low, _) in zip(values, limits, strict=True)))
    above = math.sqrt(sum((high - value) ** 2 for value, (_, high) in zip(values, limits, strict=True)))
    return (sum(values) - below, sum(values) + above) if values else (math.nan, math.nan)


def sample_difference(samples: Samples) -> SampledDifference:
    """Return a difference, given as `sum_samples((a, b), (1, -1))`."""
    parts = [_difference_of_items(sample) for sample in samples.values()]
    variance, value = sum(part.variance for part in parts), sum(part.value for part in parts)
    below = sum(part.variance**2 / part.freedom for part in parts)
    freedom = variance**2 / below if below > 0 else min(part.freedom for part in parts)
    return SampledDifference(value, variance, freedom, sum(part.limit for part in parts))


def _difference_of_items(sample: ItemSample) -> SampledDifference:
    """Return a difference on n items, its variance with one more item for it and one against.

    Where all items agree, these two differ by as much as is possible, if that is known.
    """
    n, value, variance, limit = sample.n, sample.value, sample.error**2, max(map(abs, sample.bounds))
    more = value**2 * (1 - (n / (n + 2)) ** 2) / (n + 1)
    if abs(value) < TINY and not variance:
        value, more = 0.0, 2 * limit**2 / ((n + 1) * (n + 2)) if math.isfinite(limit) else 0.0
    return SampledDifference(value, variance + more, max(n - 1, 1), limit)


def _sample_limits(sample: ItemSample, level: float) -> Limits:
    value, error, (low, high) = sample.value, sample.error, sample.bounds
    bounded, q = math.isfinite(high - low) and high > low, quantile(max(sample.n - 1, 1), level)
    if math.isnan(value) or math.isnan(error) or (sample.n < 2 and not bounded):
        return math.nan, math.nan
    if not bounded:
        below, above = _hall(sample.skewness, q)
        return value - error * max(q, below), value + error * max(q, above)
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    most, variance = share * (1 - share), (error / (high - low)) ** 2
    k = q * q / (most / variance if variance and most else sample.n)
    half = math.sqrt(k * most + k * k / 4)
    below, above = (low + (high - low) * (share + k / 2 + side) / (1 + k) for side in (-half, half))
    return min(max(below, low), value), max(min(above, high), value)


def _hall(skewness: float, q: float) -> tuple[float, float]:
    """Return the distances to both limits in standard errors, after a cubic map that removes the skewness."""
    if abs(skewness) < 1e-6:
        return q, q
    below, above = (3 / skewness * float(np.cbrt(1 + skewness * (y - skewness / 6)) - 1) for y in (q, -q))
    return below, -above


def quantile(freedom: float, level: float) -> float:
    """Return the t that is exceeded in either direction with probability 1 - level."""
    return float(stdtrit(freedom, (1 + level) / 2))

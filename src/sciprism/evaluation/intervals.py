"""Confidence intervals of scores and of differences, and the test that belongs to them.

A number has values on resamples of n items (`bootstrap`): their standard deviation is its standard error.
Quantiles are Student's t with n - 1 degrees of freedom.

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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.student_t import quantile, two_sided_p

METHOD = "wilson-t"
"""Name of the method of stored intervals; results without a name have a percentile bootstrap's."""
LEVEL = 0.95
Bounds = tuple[float, float]
Limits = tuple[float, float]
"""The low and the high end of an interval."""
TINY = 1e-12
"""Standard errors and differences below this are rounding errors."""


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
        found = self.draws[~np.isnan(self.draws)]
        error = float(found.std()) if len(found) else math.nan
        return 0.0 if error < TINY else error

    @property
    def skewness(self) -> float:
        """Return the skewness of the values on resamples."""
        found, error = self.draws[~np.isnan(self.draws)], self.error
        return float(((found - found.mean()) ** 3).mean()) / error**3 if error else 0.0


Samples = Mapping[int, ItemSample]
"""A number as a sum over independent sets of items, by the key of these items (`bootstrap.items_key`)."""


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
        return two_sided_p(self.value / math.sqrt(self.variance), self.freedom) if self.variance else 1.0

    def interval(self, level: float = LEVEL) -> Limits:
        """Return the limits, not beyond the largest possible size."""
        half = quantile(self.freedom, level) * math.sqrt(self.variance)
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
    found = [_difference_of_items(sample) for sample in samples.values()]
    variance, value = sum(each.variance for each in found), sum(each.value for each in found)
    below = sum(each.variance**2 / each.freedom for each in found)
    freedom = variance**2 / below if below > 0 else min(each.freedom for each in found)
    return SampledDifference(value, variance, freedom, sum(each.limit for each in found))


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

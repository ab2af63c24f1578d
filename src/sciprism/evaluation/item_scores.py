"""Per-item scores: what each item adds to a score, the aggregates of columns, intervals and tests of differences.

An aggregate takes columns (n, c) and weights (b, n), the count of each item in each of b resamples, and
returns (b,) numbers. Most depend on weighted sums of the columns alone: one matrix product for b resamples.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from sciprism.arrays import Doubles, safe_divide
from sciprism.errors import InputError
from sciprism.metrics.predictions import correct, f1_of_counts, outcomes, weighted_kendall_tau, weighted_spearman
from sciprism.metrics.rankings import Ids, grade_rankings, parse_metric
from sciprism.registry import Registry

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
Limits = tuple[float, float]  # the low and the high end of an interval, or of what is possible
TINY = 1e-12  # standard errors and differences below this are rounding errors


@dataclass(frozen=True, slots=True, eq=False)
class ItemSample:
    """A number that n items decide: its value, its values on resamples of them (b,), its smallest and largest value."""

    value: float
    draws: Doubles
    n: int
    bounds: Limits

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


class SampledDifference(NamedTuple):
    """A difference: its variance over items, the degrees of freedom, the limits, the two-sided p of Student's t."""

    value: float
    variance: float
    freedom: float
    limits: Limits
    p: float


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
    """Return a difference, given as `sum_samples((a, b), (1, -1))`.

    Its variance on n items is that with one more item for it and one against. Where all items agree, these two differ
    by as much as is possible, if that is known. Limits are not beyond the largest possible size; p is 1 without a
    variance.
    """
    total = variance = below = largest = 0.0
    for sample in samples.values():
        n, value, more, limit = sample.n, sample.value, sample.error**2, max(map(abs, sample.bounds))
        if abs(value) < TINY and not more:
            value, more = 0.0, 2 * limit**2 / ((n + 1) * (n + 2)) if math.isfinite(limit) else 0.0
        else:
            more += value**2 * (1 - (n / (n + 2)) ** 2) / (n + 1)
        total, variance, largest = total + value, variance + more, largest + limit
        below += more**2 / max(n - 1, 1)
    freedom = variance**2 / below if below > 0 else max(min(sample.n for sample in samples.values()) - 1, 1)
    half = quantile(freedom, LEVEL) * math.sqrt(variance)
    limits = min(max(total - half, -largest), total), max(min(total + half, largest), total)
    p = 2 * float(stdtr(freedom, -abs(total / math.sqrt(variance)))) if variance else 1.0
    return SampledDifference(total, variance, freedom, limits, p)


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


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Items, the columns (n, c) that they contribute, and the aggregate that turns them into one number.

    more: columns of the same items again, where a score is the mean over several parts (few-shot iterations).
    labels: the classes of an F1; its columns are true positives, false positives, false negatives of each.
    Raises InputError for repeated ids, numbers that are not finite, columns that do not fit the aggregate.
    """

    ids: tuple[str, ...]
    columns: Doubles
    aggregate: str
    more: tuple[Doubles, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            repeated = Counter(self.ids).most_common(1)[0][0]
            raise InputError(f"item {repeated!r} has scores twice; give each item one row")
        columns, *more = (_checked(self, part) for part in self.parts)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "more", tuple(more))

    @property
    def parts(self) -> tuple[Doubles, ...]:
        """Return the columns of each part; the score is the mean over the parts."""
        return (self.columns, *self.more)

    def take(self, rows: NDArray[np.int64]) -> ItemScores:
        """Return the scores of some items, by their positions."""
        first, *more = (part[rows] for part in self.parts)
        return replace(self, ids=tuple(self.ids[row] for row in rows), columns=first, more=tuple(more))


def score_classes(
    ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str, *, labels: ArrayLike | None = None
) -> ItemScores:
    """Return the scores of single labels (n,); aggregate: "accuracy", "f1_macro", "f1_micro", "f1_binary".

    labels: the classes of the columns, by default those that occur. "f1_binary" is that of class 1.
    """
    if aggregate == "accuracy":
        return ItemScores(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    classes: NDArray[Any] = np.union1d(gold, predicted) if labels is None else np.asarray(labels)
    if aggregate == "f1_binary" and (len(classes) > 2 or (len(classes) == 2 and 1 not in classes)):
        raise InputError(f'"f1_binary" is that of class 1 against one other, not of {classes.tolist()}')
    return score_outcomes(ids, gold, predicted, aggregate, np.array([1]) if aggregate == "f1_binary" else classes)


def score_label_sets(
    ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str, *, labels: Sequence[str] | None = None
) -> ItemScores:
    """Return the scores of label sets (n, c) of 0 and 1; aggregate: "accuracy", "f1_macro" or "f1_micro".

    All columns count as classes, even those of no item. labels: their names, (c,), else their numbers.
    """
    if aggregate == "accuracy":
        return ItemScores(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    aggregate = "f1_macro_multi_label" if aggregate == "f1_macro" else aggregate
    names = np.arange(np.asarray(gold).shape[1]) if labels is None else np.asarray(labels)
    return score_outcomes(ids, gold, predicted, aggregate, names)


def score_numbers(ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str) -> ItemScores:
    """Return the scores of predicted numbers (n,); aggregate: "kendall_tau", "spearman", "pearson", "r2"."""
    return ItemScores(tuple(ids), np.stack([gold, predicted], axis=1), aggregate)


def average_parts(parts: Sequence[ItemScores]) -> ItemScores:
    """Return parts (few-shot iterations) on the same items and classes as one score, the mean over the parts."""
    first = parts[0]
    if any((part.ids, part.aggregate, part.labels) != (first.ids, first.aggregate, first.labels) for part in parts):
        raise InputError("parts of one score need the same items in the same order, the same aggregate and classes")
    _, *more = (column for part in parts for column in part.parts)
    return replace(first, more=tuple(more))


def _checked(item_scores: ItemScores, part: ArrayLike) -> Doubles:
    columns = np.asarray(part, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    wanted = aggregates[item_scores.aggregate]
    width = len(wanted.columns) * (len(item_scores.labels) if wanted.per_class else 1)
    if columns.shape != (len(item_scores.ids), width):
        raise InputError(
            f"scores of {len(item_scores.ids)} items have columns {columns.shape}; {item_scores.aggregate!r} "
            f"reads {width}: {', '.join(wanted.columns)}{' of each class' if wanted.per_class else ''}"
        )
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(bad):
        raise InputError(f"item {item_scores.ids[bad[0]]!r} has a score that is not a finite number")
    return columns


def score_outcomes(
    ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str, classes: NDArray[Any]
) -> ItemScores:
    """Return the true positives, false positives and false negatives of each class as scores."""
    columns = np.concatenate(outcomes(gold, predicted, classes), axis=1).astype(np.float64)
    return ItemScores(tuple(ids), columns, aggregate, labels=tuple(map(str, classes.tolist())))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A statistic and the columns that it reads.

    per_class: it reads each of them for every class. bounds: its smallest and largest value, None where the columns
    decide (`find_bounds`).
    """

    statistic: Callable[[Doubles, Doubles], Doubles]
    columns: tuple[str, ...]
    per_class: bool = False
    bounds: Limits | None = (0.0, 1.0)


aggregates: Registry[Aggregate] = Registry("aggregate")

OUTCOMES = ("true positive", "false positive", "false negative")
NUMBERS = ("gold", "predicted")
SIGNED = (-1.0, 1.0)  # bounds of correlations and differences
ROUNDING = 1e-14  # largest variance that rounding leaves of a constant, for numbers up to 1
CONSTANT_TOLERANCE = 1e-6  # relative difference below which single-precision predictions are equal


def find_bounds(aggregate: str, parts: Sequence[Doubles]) -> Limits:
    """Return the smallest and largest value of a score; a mean of values from 0 to 1 is between these."""
    definition = aggregates[aggregate]
    if definition.bounds is not None:
        return definition.bounds
    tops = (part[:, 1:].max(axis=1) if len(definition.columns) > 1 else np.ones(len(part)) for part in parts)
    inside = all((part[:, 0] >= 0).all() and (part[:, 0] <= top).all() for part, top in zip(parts, tops, strict=True))
    return (0.0, 1.0) if inside else (-math.inf, math.inf)


def _mean(columns: Doubles, weights: Doubles) -> Doubles:
    return _divide((weights @ columns)[:, 0], weights.sum(axis=1))


def _b3(columns: Doubles, weights: Doubles) -> Doubles:
    precision, recall = (weights @ columns).T / weights.sum(axis=1)
    return safe_divide(2 * precision * recall, precision + recall)


def _f1(columns: Doubles, weights: Doubles, average: Literal["macro", "present", "micro"]) -> Doubles:
    tp, fp, fn = np.split(weights @ columns, len(OUTCOMES), axis=1)
    return f1_of_counts(tp, fp, fn, average)


def _pearson(columns: Doubles, weights: Doubles) -> Doubles:
    xx, yy, xy = _covariances(columns, weights)
    varied = (xx > ROUNDING) & (yy > ROUNDING)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Doubles = np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0)
    return np.where(varied, correlation, np.nan)


def _pearson_or_zero(columns: Doubles, weights: Doubles) -> Doubles:
    """Return Pearson's r, or 0 where only the prediction is constant (a collapsed run)."""
    gold, predicted = columns.T
    if np.ptp(predicted) <= CONSTANT_TOLERANCE * np.abs(predicted).max():
        predicted = np.zeros_like(predicted)
    both = np.stack([gold, predicted], axis=1)
    correlation = _pearson(both, weights)
    return np.where(np.isnan(correlation) & (_covariances(both, weights)[0] > ROUNDING), 0.0, correlation)


def _r2(columns: Doubles, weights: Doubles) -> Doubles:
    x, y = columns.T
    centred = x - x.mean()
    scale = float(np.abs(centred).max()) or 1.0
    centred, missed = centred / scale, (y - x) / scale
    sums = weights @ np.stack([centred, centred**2, missed**2], axis=1)
    count = weights.sum(axis=1)
    mean, square, error = sums.T / count
    spread = square - mean**2
    constant = spread <= ROUNDING
    share = np.where(constant, error == 0, 1 - error / np.where(constant, 1.0, spread))
    return np.where(count < 2, np.nan, share)


def _covariances(columns: Doubles, weights: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the weighted variances and covariance of two columns, scaled to at most 1, each (b,)."""
    centred = columns - columns.mean(axis=0)
    top = np.abs(centred).max(axis=0)
    x, y = (centred / np.where(top > 0, top, 1.0)).T
    count = weights.sum(axis=1)
    mx, my, xx, yy, xy = (weights @ np.stack([x, y, x * x, y * y, x * y], axis=1)).T / count
    return xx - mx * mx, yy - my * my, xy - mx * my


def _divide(above: Doubles, below: Doubles) -> Doubles:
    """Divide elementwise; NaN where the divisor is 0."""
    quotient: Doubles = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


aggregates.update(
    {
        "mean": Aggregate(_mean, ("value",), bounds=None),
        "weighted-mean": Aggregate(
            lambda columns, w: _divide(*(w @ columns).T), ("value times weight", "weight"), bounds=None
        ),
        "accuracy": Aggregate(_mean, ("right",)),
        "f1_macro": Aggregate(partial(_f1, average="present"), OUTCOMES, per_class=True),
        "f1_macro_multi_label": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True),
        "f1_micro": Aggregate(partial(_f1, average="micro"), OUTCOMES, per_class=True),
        "f1_binary": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True),
        "b3": Aggregate(_b3, ("precision", "recall")),
        "b3_difference": Aggregate(
            lambda columns, weights: _b3(columns[:, :2], weights) - _b3(columns[:, 2:], weights),
            ("precision", "recall", "precision of the other", "recall of the other"),
            bounds=SIGNED,
        ),
        "pearson": Aggregate(_pearson, NUMBERS, bounds=SIGNED),
        "pearson_or_zero": Aggregate(_pearson_or_zero, NUMBERS, bounds=SIGNED),
        "r2": Aggregate(_r2, NUMBERS, bounds=(-math.inf, math.inf)),
        "kendall_tau": Aggregate(lambda c, w: weighted_kendall_tau(c[:, 0], c[:, 1], w), NUMBERS, bounds=SIGNED),
        "spearman": Aggregate(lambda c, w: weighted_spearman(c[:, 0], c[:, 1], w), NUMBERS, bounds=SIGNED),
    }
)


BLOCK = 512  # queries scored at once


def score_rankings(
    metrics: Sequence[str],
    query_ids: Sequence[str],
    ranked: Iterable[tuple[Ids, ArrayLike]],
    judged: Iterable[Mapping[str, float]],
) -> dict[str, ItemScores]:
    """Score each query's documents (ids, scores) against its grades; nothing found counts 0.

    Rankings are read in batches: deep ones of many queries would not fit in memory. Raises InputError for a
    document that is ranked twice, or a query without judgements.
    """
    values: dict[str, list[Doubles]] = {name: [] for name in metrics}
    remaining = zip(query_ids, ranked, judged, strict=True)
    while part := list(islice(remaining, BLOCK)):
        rankings = grade_rankings({q: run for q, run, _ in part}, {q: grades for q, _, grades in part})
        if len(rankings.queries) < len(part):
            names = [query for query, _, _ in part]
            bad = next(q for q, _, grades in part if not grades or names.count(q) > 1)
            raise InputError(f"a query is repeated or has no judgement: {bad!r}")
        for name in metrics:
            metric, depth = parse_metric(name)
            values[name].append(metric(rankings, depth))
    return {
        name: ItemScores(tuple(query_ids), np.concatenate([np.empty(0), *blocks])[:, None], aggregate="mean")
        for name, blocks in values.items()
    }

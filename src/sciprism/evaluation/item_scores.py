"""Per-item scores: what each item adds to a score, and the aggregates that turn columns into one number.

An aggregate takes columns (n, c) and weights (b, n), the count of each item in each of b resamples, and
returns (b,) numbers. Most depend on weighted sums of the columns alone: one matrix product for b resamples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles, safe_divide
from sciprism.errors import InputError
from sciprism.metrics.predictions import correct, f1_of_counts, outcomes, weighted_kendall_tau, weighted_spearman
from sciprism.metrics.rankings import Ids, grade_rankings, parse_metric
from sciprism.registry import Registry


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


Statistic = Callable[[Doubles, Doubles], Doubles]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A statistic and the columns that it reads.

    per_class: it reads each of them for every class. bounds: its smallest and largest value, None where the columns
    decide (`find_bounds`).
    """

    statistic: Statistic
    columns: tuple[str, ...]
    per_class: bool = False
    bounds: tuple[float, float] | None = (0.0, 1.0)


aggregates: Registry[Aggregate] = Registry("aggregate")

OUTCOMES = ("true positive", "false positive", "false negative")
NUMBERS = ("gold", "predicted")
WEIGHTED = ("value times weight", "weight")
OF_TWO = ("precision", "recall", "precision of the other", "recall of the other")
SIGNED = (-1.0, 1.0)  # bounds of correlations and differences
ROUNDING = 1e-14  # largest variance that rounding leaves of a constant, for numbers up to 1
CONSTANT_TOLERANCE = 1e-6  # relative difference below which single-precision predictions are equal


def find_bounds(aggregate: str, parts: Sequence[Doubles]) -> tuple[float, float]:
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
        "weighted-mean": Aggregate(lambda columns, w: _divide(*(w @ columns).T), WEIGHTED, bounds=None),
        "accuracy": Aggregate(_mean, ("right",)),
        "f1_macro": Aggregate(partial(_f1, average="present"), OUTCOMES, per_class=True),
        "f1_macro_multi_label": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True),
        "f1_micro": Aggregate(partial(_f1, average="micro"), OUTCOMES, per_class=True),
        "f1_binary": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True),
        "b3": Aggregate(_b3, ("precision", "recall")),
        "b3_difference": Aggregate(
            lambda columns, weights: _b3(columns[:, :2], weights) - _b3(columns[:, 2:], weights), OF_TWO, bounds=SIGNED
        ),
        "pearson": Aggregate(_pearson, NUMBERS, bounds=SIGNED),
        "pearson_or_zero": Aggregate(_pearson_or_zero, NUMBERS, bounds=SIGNED),
        "r2": Aggregate(_r2, NUMBERS, bounds=(-math.inf, math.inf)),
        "kendall_tau": Aggregate(lambda c, w: weighted_kendall_tau(c[:, 0], c[:, 1], w), NUMBERS, bounds=SIGNED),
        "spearman": Aggregate(lambda c, w: weighted_spearman(c[:, 0], c[:, 1], w), NUMBERS, bounds=SIGNED),
    }
)


JudgedRanking = tuple[str, tuple[Ids, ArrayLike], Mapping[str, int]]
BLOCK = 512  # queries scored at once


def score_rankings(
    metrics: Sequence[str],
    query_ids: Sequence[str],
    ranked: Iterable[tuple[Ids, ArrayLike]],
    judged: Iterable[Mapping[str, int]],
) -> dict[str, ItemScores]:
    """Score each query's documents (ids, scores) against its grades; nothing found counts 0.

    Rankings are read in batches: deep ones of many queries would not fit in memory. Raises InputError for a
    document that is ranked twice, or a query without judgements.
    """
    values: dict[str, list[Doubles]] = {name: [] for name in metrics}
    remaining: Iterator[JudgedRanking] = zip(query_ids, ranked, judged, strict=True)
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

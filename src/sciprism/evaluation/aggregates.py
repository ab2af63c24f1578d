"""Aggregates: from the columns of per-item scores to one number, for many resamples of the items at once.

An aggregate takes columns (n, c) and weights (b, n), the count of each item in each of b resamples, and
returns (b,) numbers. Most depend on weighted sums of the columns alone: one matrix product for b resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.metrics import weighted_correlations
from sciprism.metrics.alignment import safe_divide
from sciprism.metrics.classification import ConfusionCounts, f1_of_counts
from sciprism.registry import Registry

Statistic = Callable[[Doubles, Doubles], Doubles]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A statistic and the columns that it reads.

    per_class: it reads each of them for every class. idle_classes: classes without any gold or predicted item
    count. bounds: its smallest and largest value, None where the columns decide (`find_bounds`).
    """

    statistic: Statistic
    columns: tuple[str, ...]
    per_class: bool = False
    idle_classes: bool = False
    bounds: tuple[float, float] | None = (0.0, 1.0)


aggregates: Registry[Aggregate] = Registry("aggregate")

OUTCOMES = ("true positive", "false positive", "false negative")
NUMBERS = ("gold", "predicted")
ROUNDING = 1e-14
"""Largest variance that rounding leaves of a constant, for numbers up to 1."""
CONSTANT_TOLERANCE = 1e-6
"""Relative difference below which single-precision predictions are equal."""


def find_bounds(aggregate: str, parts: Sequence[Doubles]) -> tuple[float, float]:
    """Return the smallest and largest value of a score; a mean of values from 0 to 1 is between these."""
    known = aggregates[aggregate]
    if known.bounds is not None:
        return known.bounds
    tops = (part[:, 1:].max(axis=1) if len(known.columns) > 1 else np.ones(len(part)) for part in parts)
    inside = all((part[:, 0] >= 0).all() and (part[:, 0] <= top).all() for part, top in zip(parts, tops, strict=True))
    return (0.0, 1.0) if inside else (-math.inf, math.inf)


def _mean(columns: Doubles, weights: Doubles) -> Doubles:
    return _divide((weights @ columns)[:, 0], weights.sum(axis=1))


def _weighted_mean(columns: Doubles, weights: Doubles) -> Doubles:
    return _divide(*(weights @ columns).T)


def _b3(columns: Doubles, weights: Doubles) -> Doubles:
    precision, recall = (weights @ columns).T / weights.sum(axis=1)
    return safe_divide(2 * precision * recall, precision + recall)


def _b3_difference(columns: Doubles, weights: Doubles) -> Doubles:
    one, other = np.split(columns, 2, axis=1)
    return _b3(one, weights) - _b3(other, weights)


def _f1(columns: Doubles, weights: Doubles, average: Literal["macro", "present", "micro"]) -> Doubles:
    return f1_of_counts(ConfusionCounts(*np.split(weights @ columns, len(OUTCOMES), axis=1)), average)


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
    found = _pearson(both, weights)
    return np.where(np.isnan(found) & (_covariances(both, weights)[0] > ROUNDING), 0.0, found)


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


def _kendall_tau(columns: Doubles, weights: Doubles) -> Doubles:
    return weighted_correlations.kendall_tau(columns[:, 0], columns[:, 1], weights)


def _spearman(columns: Doubles, weights: Doubles) -> Doubles:
    return weighted_correlations.spearman(columns[:, 0], columns[:, 1], weights)


def _divide(above: Doubles, below: Doubles) -> Doubles:
    """Divide elementwise; NaN where the divisor is 0."""
    quotient: Doubles = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


aggregates.update(
    {
        "mean": Aggregate(_mean, ("value",), bounds=None),
        "weighted-mean": Aggregate(_weighted_mean, ("value times weight", "weight"), bounds=None),
        "accuracy": Aggregate(_mean, ("right",)),
        "f1_macro": Aggregate(partial(_f1, average="present"), OUTCOMES, per_class=True),
        "f1_macro_multi_label": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True, idle_classes=True),
        "f1_micro": Aggregate(partial(_f1, average="micro"), OUTCOMES, per_class=True),
        "f1_binary": Aggregate(partial(_f1, average="macro"), OUTCOMES, per_class=True),
        "b3": Aggregate(_b3, ("precision", "recall")),
        "b3_difference": Aggregate(
            _b3_difference,
            ("precision", "recall", "precision of the other", "recall of the other"),
            bounds=(-1.0, 1.0),
        ),
        "pearson": Aggregate(_pearson, NUMBERS, bounds=(-1.0, 1.0)),
        "pearson_or_zero": Aggregate(_pearson_or_zero, NUMBERS, bounds=(-1.0, 1.0)),
        "r2": Aggregate(_r2, NUMBERS, bounds=(-math.inf, math.inf)),
        "kendall_tau": Aggregate(_kendall_tau, NUMBERS, bounds=(-1.0, 1.0)),
        "spearman": Aggregate(_spearman, NUMBERS, bounds=(-1.0, 1.0)),
    }
)

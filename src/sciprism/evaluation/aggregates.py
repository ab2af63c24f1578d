"""From what each item contributed to one number, for many resamples of the items at once.

An aggregate takes columns (n, c) and weights (b, n), how often each item occurs in each of b resamples, and
gives (b,) numbers. Most depend on the columns' weighted sums alone: then b resamples are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.metrics import weighted
from sciprism.metrics.alignment import ratio
from sciprism.metrics.classes import Counts, f1_of_counts
from sciprism.registry import Registry

Statistic = Callable[[Doubles, Doubles], Doubles]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A statistic and the columns that it reads.

    per_class: it reads each of them once for every class. idle_classes: those that nobody has or gets count.
    """

    statistic: Statistic
    columns: tuple[str, ...]
    per_class: bool = False
    idle_classes: bool = False


aggregates: Registry[Aggregate] = Registry("aggregate")

OUTCOMES = ("true positive", "false positive", "false negative")
NUMBERS = ("gold", "predicted")
ROUNDING = 1e-14
"""What may be left of a constant's variance, where numbers reach up to 1."""
ALIKE = 1e-6
"""What single precision leaves between equal predictions, as a share of them."""


def _mean(columns: Doubles, weights: Doubles) -> Doubles:
    return _divide((weights @ columns)[:, 0], weights.sum(axis=1))


def _weighted_mean(columns: Doubles, weights: Doubles) -> Doubles:
    above, below = (weights @ columns).T
    return _divide(above, below)


def _b3(columns: Doubles, weights: Doubles) -> Doubles:
    precision, recall = (weights @ columns).T / weights.sum(axis=1)
    return ratio(2 * precision * recall, precision + recall)


def _b3_difference(columns: Doubles, weights: Doubles) -> Doubles:
    one, other = np.split(columns, 2, axis=1)
    return _b3(one, weights) - _b3(other, weights)


def _f1(average: Literal["macro", "present", "micro"]) -> Statistic:
    def statistic(columns: Doubles, weights: Doubles) -> Doubles:
        tp, fp, fn = np.split(weights @ columns, len(OUTCOMES), axis=1)
        return f1_of_counts(Counts(tp, fp, fn), average)

    return statistic


def _pearson(columns: Doubles, weights: Doubles) -> Doubles:
    xx, yy, xy = _spreads(columns, weights)
    varied = (xx > ROUNDING) & (yy > ROUNDING)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Doubles = np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0)
    return np.where(varied, correlation, np.nan)


def _pearson_or_zero(columns: Doubles, weights: Doubles) -> Doubles:
    """Return Pearson's r, 0 where the gold varies and the prediction does not (a collapsed run)."""
    gold, said = columns.T
    if np.ptp(said) <= ALIKE * np.abs(said).max():
        said = np.zeros_like(said)
    both = np.stack([gold, said], axis=1)
    found = _pearson(both, weights)
    return np.where(np.isnan(found) & (_spreads(both, weights)[0] > ROUNDING), 0.0, found)


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


def _spreads(columns: Doubles, weights: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the weighted variances and covariance of two columns, scaled to at most 1, each (b,)."""
    centred = columns - columns.mean(axis=0)
    top = np.abs(centred).max(axis=0)
    x, y = (centred / np.where(top > 0, top, 1.0)).T
    count = weights.sum(axis=1)
    mx, my, xx, yy, xy = (weights @ np.stack([x, y, x * x, y * y, x * y], axis=1)).T / count
    return xx - mx * mx, yy - my * my, xy - mx * my


def _of_two(statistic: Callable[[Doubles, Doubles, Doubles], Doubles]) -> Statistic:
    def on_columns(columns: Doubles, weights: Doubles) -> Doubles:
        return statistic(columns[:, 0], columns[:, 1], weights)

    return on_columns


def _divide(above: Doubles, below: Doubles) -> Doubles:
    """Divide elementwise; NaN where there is nothing to divide by."""
    quotient: Doubles = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


aggregates["mean"] = Aggregate(_mean, ("value",))
aggregates["weighted-mean"] = Aggregate(_weighted_mean, ("value times weight", "weight"))
aggregates["accuracy"] = Aggregate(_mean, ("right",))
aggregates["f1_macro"] = Aggregate(_f1("present"), OUTCOMES, per_class=True)
aggregates["f1_macro_multi_label"] = Aggregate(_f1("macro"), OUTCOMES, per_class=True, idle_classes=True)
aggregates["f1_micro"] = Aggregate(_f1("micro"), OUTCOMES, per_class=True)
aggregates["f1_binary"] = Aggregate(_f1("macro"), OUTCOMES, per_class=True)
aggregates["b3"] = Aggregate(_b3, ("precision", "recall"))
aggregates["b3_difference"] = Aggregate(
    _b3_difference, ("precision", "recall", "precision of the other", "recall of the other")
)
aggregates["pearson"] = Aggregate(_pearson, NUMBERS)
aggregates["pearson_or_zero"] = Aggregate(_pearson_or_zero, NUMBERS)
aggregates["r2"] = Aggregate(_r2, NUMBERS)
aggregates["kendall_tau"] = Aggregate(_of_two(weighted.kendall_tau), NUMBERS)
aggregates["spearman"] = Aggregate(_of_two(weighted.spearman), NUMBERS)

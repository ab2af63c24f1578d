"""Correlations and R2 of predicted and true numbers."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles, Integers
from sciprism.metrics.alignment import check_aligned, check_finite


def kendall_tau(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return Kendall's tau-b in O(n log n), from integer pair counts; NaN if either side is constant.

    (concordant - discordant) / sqrt(pairs untied in gold * pairs untied in predicted).
    """
    x, y = (dense_ranks(side) for side in _sides(gold, predicted))
    if len(x) < 2:
        return nan
    order = np.lexsort((y, x))  # y rises within ties of x: none of their pairs counts as discordant
    pairs = len(x) * (len(x) - 1) // 2
    tied_x, tied_y = _tied_pairs(x), _tied_pairs(y)
    tied_both = _tied_pairs(x * (int(y.max()) + 1) + y)
    if pairs in (tied_x, tied_y):
        return nan
    difference = pairs - tied_x - tied_y + tied_both - 2 * _inversions(y[order])
    return max(-1.0, min(1.0, difference / sqrt(pairs - tied_x) / sqrt(pairs - tied_y)))


def pearson(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return Pearson's correlation; NaN if either side is constant."""
    x, y = _sides(gold, predicted)
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return nan
    x, y = (side - side.mean() for side in (x, y))
    x, y = (side / np.abs(side).max() for side in (x, y))  # so that squares of tiny numbers do not underflow
    return float(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1.0, 1.0))


def spearman(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return Spearman's correlation, ties at their mean rank; NaN if either side is constant."""
    x, y = _sides(gold, predicted)
    return pearson(mean_ranks(x), mean_ranks(y))


def r2(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return R2, the explained share of variance: 1 - squared error / squared deviation from the mean.

    Constant gold gives 1 for perfect predictions, else 0 (scikit-learn's rule); fewer than 2 items give NaN.
    """
    x, y = _sides(gold, predicted)
    if len(x) < 2:
        return nan
    error, spread = float(((x - y) ** 2).sum()), float(((x - x.mean()) ** 2).sum())
    if (x == x[0]).all():
        return float(error == 0)
    return 1 - error / spread


def dense_ranks(values: Doubles) -> Integers:
    """Return dense ranks (n,) from 0: the distinct values numbered in ascending order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def mean_ranks(values: Doubles) -> Doubles:
    """Return ranks (n,) from 1; equal values share their mean rank."""
    codes = dense_ranks(values)
    sizes = np.bincount(codes)
    ranks: Doubles = (np.cumsum(sizes) - (sizes - 1) / 2)[codes]
    return ranks


def _sides(gold: ArrayLike, predicted: ArrayLike) -> tuple[Doubles, Doubles]:
    x, y = check_finite(gold, "gold numbers"), check_finite(predicted, "predicted numbers")
    check_aligned(x, y, "gold and predicted numbers")
    return x, y


def _tied_pairs(codes: Integers) -> int:
    sizes = np.unique(codes, return_counts=True)[1].astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(ranks: Integers) -> int:
    """Count the pairs i < j with ranks[i] > ranks[j], by a merge sort of all blocks of a size at once."""
    size = 1 << (len(ranks) - 1).bit_length()
    # the padding is largest and last: it is in no inversion
    rows: Integers = np.full(size, len(ranks), dtype=np.int64)
    rows[: len(ranks)] = ranks
    total, half = 0, 1
    while half < size:
        rows = rows.reshape(-1, 2 * half)
        order = np.argsort(rows, axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, axis=1)
        # without inversions the right half stays at half..2*half-1; each lost position is a larger left value
        positions = np.nonzero(order >= half)[1]
        total += len(rows) * (half * (3 * half - 1) // 2) - int(positions.sum())
        half *= 2
    return total

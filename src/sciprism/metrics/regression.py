"""Correlations and R2 of predicted and true numbers; rank correlations of many resamples at once too.

Weights (b, n) are integers: how often each of n items occurs in each of b resamples.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles, Integers, check_aligned, check_finite


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


MIN_RESAMPLES = 16
"""Fewer resamples than this are computed one by one, in O(n log n) each."""
MAX_ITEMS = 1 << 15
"""Resamples of more items are computed one by one too: n^2 would cost more."""
BLOCK = 256
"""Items that are compared with all others at once: bounds memory to a few (BLOCK, n) matrices."""


def weighted_kendall_tau(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
    """Return tau-b of each resample, (n,), (n,), (b, n) -> (b,); NaN if one side is constant.

    With S the matrix of all pairs' signs, w S w / 2 is concordant minus discordant pairs: quadratic in n, but
    a matrix product. Exact for resamples of fewer than 2^24 items.
    """
    if len(weights) < MIN_RESAMPLES or len(gold) > MAX_ITEMS:
        copies = (np.repeat(np.arange(len(gold)), row.astype(np.int64)) for row in weights)
        return np.array([kendall_tau(gold[items], predicted[items]) for items in copies])
    x, y = dense_ranks(gold), dense_ranks(predicted)
    size = weights.sum(axis=1)
    pairs = size * (size - 1) / 2
    free_x, free_y = pairs - _weighted_tied_pairs(x, weights), pairs - _weighted_tied_pairs(y, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Doubles = _concordance(x, y, weights) / np.sqrt(free_x) / np.sqrt(free_y)
    return np.where((free_x > 0) & (free_y > 0), tau, np.nan)


def weighted_spearman(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
    """Return Spearman's rho of each resample, (n,), (n,), (b, n) -> (b,); NaN if one side is constant."""
    x, y = _centred_ranks(dense_ranks(gold), weights), _centred_ranks(dense_ranks(predicted), weights)
    xx, yy, xy = (np.einsum("bi,bi,bi->b", weights, *two) for two in ((x, x), (y, y), (x, y)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx) / np.sqrt(yy), np.nan)


def _group_sums(codes: Integers, weights: Doubles) -> Doubles:
    """Return the sums of the weights of equal codes: (b, n) -> (b, groups)."""
    if not len(codes):
        return np.zeros((len(weights), 0))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1)


def _weighted_tied_pairs(codes: Integers, weights: Doubles) -> Doubles:
    sizes = _group_sums(codes, weights)
    pairs: Doubles = (sizes * (sizes - 1) / 2).sum(axis=1)
    return pairs


def _centred_ranks(codes: Integers, weights: Doubles) -> Doubles:
    """Return each item's mean rank in each resample, minus the mean of all ranks: (b, n)."""
    sizes = _group_sums(codes, weights)
    ranks: Doubles = (np.cumsum(sizes, axis=1) - sizes / 2 - weights.sum(axis=1, keepdims=True) / 2)[:, codes]
    return ranks


def _concordance(x: Integers, y: Integers, weights: Doubles) -> Doubles:
    """Count concordant minus discordant pairs of each resample."""
    single = weights.astype(np.float32)  # integers below 2^24: exact in single precision
    left, right = x.astype(np.float32), y.astype(np.float32)
    total = np.zeros(len(weights))
    for start in range(0, len(x), BLOCK):
        stop = min(start + BLOCK, len(x))
        # of items start..stop compared with all from start on: -1, 0 or 1
        signs = np.sign(left[start:stop, None] - left[None, start:])
        signs *= np.sign(right[start:stop, None] - right[None, start:])
        signs[:, : stop - start] = np.triu(signs[:, : stop - start], 1)  # each pair once
        reached = (single[:, start:] @ signs.T).astype(np.float64)
        total += np.einsum("bi,bi->b", weights[:, start:stop], reached)
    return total

"""Rank correlations of many resamples of the same items at once.

Weights (b, n) are integers: how often each of n items occurs in each of b resamples.
"""

from __future__ import annotations

import numpy as np

from sciprism.arrays import Doubles, Integers
from sciprism.metrics import regression
from sciprism.metrics.regression import dense_ranks

MIN_RESAMPLES = 16
"""Fewer resamples than this are computed one by one, in O(n log n) each."""
MAX_ITEMS = 1 << 15
"""Resamples of more items are computed one by one too: n^2 would cost more."""
BLOCK = 256
"""Items that are compared with all others at once: bounds memory to a few (BLOCK, n) matrices."""


def kendall_tau(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
    """Return tau-b of each resample, (n,), (n,), (b, n) -> (b,); NaN if one side is constant.

    With S the matrix of all pairs' signs, w S w / 2 is concordant minus discordant pairs: quadratic in n, but
    a matrix product. Exact for resamples of fewer than 2^24 items.
    """
    if len(weights) < MIN_RESAMPLES or len(gold) > MAX_ITEMS:
        copies = (np.repeat(np.arange(len(gold)), row.astype(np.int64)) for row in weights)
        return np.array([regression.kendall_tau(gold[items], predicted[items]) for items in copies])
    x, y = dense_ranks(gold), dense_ranks(predicted)
    size = weights.sum(axis=1)
    pairs = size * (size - 1) / 2
    free_x, free_y = pairs - _tied_pairs(x, weights), pairs - _tied_pairs(y, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Doubles = _concordance(x, y, weights) / np.sqrt(free_x) / np.sqrt(free_y)
    return np.where((free_x > 0) & (free_y > 0), tau, np.nan)


def spearman(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
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


def _tied_pairs(codes: Integers, weights: Doubles) -> Doubles:
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

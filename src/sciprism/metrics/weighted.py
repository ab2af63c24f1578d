"""Rank correlations of many weighted copies of the same items at once, for resampling.

A row of weights says how often each item occurs in one resample, so (b, n) whole numbers are b resamples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles
from sciprism.metrics import numbers
from sciprism.metrics.alignment import Whole
from sciprism.metrics.numbers import dense_ranks

FEW = 16
"""Fewer resamples than this are counted one by one, in O(n log n) each."""
MANY = 1 << 15
"""So are those of more items than this: there n^2 costs more."""
BLOCK = 256
"""Items compared with all others at once: bounds the memory to a few (BLOCK, n) matrices."""


def kendall_tau(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
    """Return tau-b of each resample, (n,), (n,), (b, n) -> (b,); NaN where one side is constant.

    The signs of all pairs form a matrix S, and w S w / 2 counts concordant minus discordant pairs: quadratic
    in n, but a matrix product. Exact while a resample has fewer than 2^24 items.
    """
    if len(weights) < FEW or len(gold) > MANY:
        copies = (np.repeat(np.arange(len(gold)), row.astype(np.int64)) for row in weights)
        return np.array([numbers.kendall_tau(gold[items], predicted[items]) for items in copies])
    x, y = dense_ranks(gold), dense_ranks(predicted)
    size = weights.sum(axis=1)
    pairs = size * (size - 1) / 2
    free_x, free_y = pairs - _tied_pairs(x, weights), pairs - _tied_pairs(y, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Doubles = _concordance(x, y, weights) / np.sqrt(free_x) / np.sqrt(free_y)
    return np.where((free_x > 0) & (free_y > 0), tau, np.nan)


def spearman(gold: Doubles, predicted: Doubles, weights: Doubles) -> Doubles:
    """Return Spearman's rho of each resample, (n,), (n,), (b, n) -> (b,); NaN where one side is constant."""
    x, y = _centred_ranks(dense_ranks(gold), weights), _centred_ranks(dense_ranks(predicted), weights)
    xx, yy, xy = (np.einsum("bi,bi,bi->b", weights, *two) for two in ((x, x), (y, y), (x, y)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx) / np.sqrt(yy), np.nan)


def _group_sums(codes: Whole, weights: Doubles) -> Doubles:
    """Add up the weights of equal codes: (b, n) -> (b, groups)."""
    if not len(codes):
        return np.zeros((len(weights), 0))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1)


def _tied_pairs(codes: Whole, weights: Doubles) -> Doubles:
    sizes = _group_sums(codes, weights)
    pairs: Doubles = (sizes * (sizes - 1) / 2).sum(axis=1)
    return pairs


def _centred_ranks(codes: Whole, weights: Doubles) -> Doubles:
    """Give each item its mean rank in each resample, less the mean of all ranks: (b, n)."""
    sizes = _group_sums(codes, weights)
    ranks: Doubles = (np.cumsum(sizes, axis=1) - sizes / 2 - weights.sum(axis=1, keepdims=True) / 2)[:, codes]
    return ranks


def _concordance(x: Whole, y: Whole, weights: Doubles) -> Doubles:
    """Count concordant minus discordant pairs of each resample."""
    single = weights.astype(np.float32)  # whole numbers below 2^24: single precision adds them exactly
    left, right = x.astype(np.float32), y.astype(np.float32)
    total = np.zeros(len(weights))
    for start in range(0, len(x), BLOCK):
        stop = min(start + BLOCK, len(x))
        signs = _signs(left, start, stop)
        signs *= _signs(right, start, stop)
        signs[:, : stop - start] = np.triu(signs[:, : stop - start], 1)  # each pair once
        reached = (single[:, start:] @ signs.T).astype(np.float64)
        total += np.einsum("bi,bi->b", weights[:, start:stop], reached)
    return total


def _signs(ranks: NDArray[np.float32], start: int, stop: int) -> NDArray[np.float32]:
    """Compare items start..stop with all from start on: -1, 0 or 1."""
    signs: NDArray[np.float32] = np.sign(ranks[start:stop, None] - ranks[None, start:])
    return signs

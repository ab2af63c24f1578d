"""Accuracy and F1 of predicted classes by scikit-learn's rules, B3 of clusters, and rank correlations of numbers.

Labels are single, (n,), or multi-labels, (n, c) of 0 and 1. The classes of single labels are those present in
gold or predictions; those of multi-labels are all columns. A class without any item (0 / 0) has F1 0.

Weights (b, n) are integers: how often each of n items occurs in each of b resamples.
"""

from __future__ import annotations

from math import nan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles, Integers, check_aligned, check_finite, safe_divide
from sciprism.errors import InputError

Outcomes = NDArray[np.bool_]


def correct(gold: ArrayLike, predicted: ArrayLike) -> Outcomes:
    """Mark the items (n,) with the right label, or with all labels right."""
    truth, guess = _pair(gold, predicted)
    wrong: Outcomes = (truth != guess) if truth.ndim == 1 else (truth != guess).any(axis=1, keepdims=True)[:, 0]
    return ~wrong


def outcomes(gold: ArrayLike, predicted: ArrayLike, labels: ArrayLike | None) -> tuple[Outcomes, Outcomes, Outcomes]:
    """Mark each item's true positives, false positives and false negatives of each class, each (n, c).

    labels: (c,) the classes of single labels, in the order of the columns. Multi-labels need none.
    """
    truth, guess = _pair(gold, predicted)
    if truth.ndim == 1:
        if labels is None:
            raise InputError("single labels: name the classes of the columns")
        truth, guess = (side[:, None] == np.asarray(labels)[None, :] for side in (truth, guess))
    else:
        truth, guess = truth.astype(bool), guess.astype(bool)
    return truth & guess, ~truth & guess, truth & ~guess


def f1_of_counts(tp: Doubles, fp: Doubles, fn: Doubles, average: Literal["macro", "present", "micro"]) -> Doubles:
    """Return the F1 of true positives, false positives and false negatives (..., c) -> (...): 2 tp / (2 tp + fp + fn).

    "macro" averages all classes, "present" those in gold or predictions; "micro" adds up the counts first.
    """
    hit, wrong = 2 * tp, fp + fn
    if average == "micro":
        return safe_divide(hit.sum(axis=-1), (hit + wrong).sum(axis=-1))
    f1 = safe_divide(hit, hit + wrong)
    classes = (hit + wrong > 0).sum(axis=-1) if average == "present" else np.full(f1.shape[:-1], f1.shape[-1])
    return safe_divide(f1.sum(axis=-1), classes.astype(np.float64))


def _pair(gold: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    truth, guess = np.asarray(gold), np.asarray(predicted)
    check_aligned(truth, guess, "gold and predicted labels")
    if truth.shape != guess.shape or truth.ndim not in (1, 2):
        raise InputError(f"gold labels are {truth.shape}, predicted ones {guess.shape}; give (n,) or (n, c) of both")
    if truth.ndim == 2 and not (np.isin(truth, (0, 1)).all() and np.isin(guess, (0, 1)).all()):
        raise InputError("multi-labels are rows of 0 and 1, one column for each class")
    return truth, guess


def b_cubed(gold: ArrayLike, predicted: ArrayLike) -> tuple[Doubles, Doubles]:
    """Return the precision and recall of each item, both (n,), from its gold and its predicted cluster.

    precision = |both| / |predicted cluster|, recall = |both| / |gold cluster| (S2AND, the B3 metric). Cluster
    names are arbitrary.
    """
    truth, guess = np.asarray(gold), np.asarray(predicted)
    check_aligned(truth, guess, "gold and predicted clusters")
    _, truth, of_truth = np.unique(truth, return_inverse=True, return_counts=True)
    clusters, guess, of_guess = np.unique(guess, return_inverse=True, return_counts=True)
    pairs = truth.astype(np.int64) * max(1, len(clusters)) + guess
    _, both, of_both = np.unique(pairs, return_inverse=True, return_counts=True)
    shared = of_both[both]
    return shared / of_guess[guess], shared / of_truth[truth]


def b_cubed_f1(precision: Doubles, recall: Doubles) -> float:
    """Return the harmonic mean of mean precision and mean recall, not the mean of harmonic means."""
    check_aligned(precision, recall, "precision and recall")
    if not len(precision):
        raise InputError("there is no item in the clusters; nothing can be scored")
    p, r = float(precision.mean()), float(recall.mean())
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def kendall_tau(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return Kendall's tau-b, from integer pair counts; NaN if either side is constant.

    (concordant - discordant) / sqrt(pairs untied in gold * pairs untied in predicted).
    """
    from scipy.stats import kendalltau

    x, y = check_finite(gold, "gold numbers"), check_finite(predicted, "predicted numbers")
    check_aligned(x, y, "gold and predicted numbers")
    return float(kendalltau(x, y).statistic) if len(x) > 1 else nan


def dense_ranks(values: Doubles) -> Integers:
    """Return dense ranks (n,) from 0: the distinct values numbered in ascending order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


MIN_RESAMPLES = 16  # fewer resamples than this are computed one by one, in O(n log n) each
MAX_ITEMS = 1 << 15  # resamples of more items are computed one by one too: n^2 would cost more
BLOCK = 256  # items that are compared with all others at once: bounds memory to a few (BLOCK, n) matrices


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

"""B3 precision, recall and F1 of a clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.metrics.alignment import check_aligned


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


def f1(precision: Doubles, recall: Doubles, *, decimals: int | None = None) -> float:
    """Return the harmonic mean of mean precision and mean recall, not the mean of harmonic means.

    decimals: round the result (S2AND prints 3).
    """
    check_aligned(precision, recall, "precision and recall")
    if not len(precision):
        raise InputError("there is no item in the clusters; nothing can be scored")
    p, r = float(precision.mean()), float(recall.mean())
    score = 2 * p * r / (p + r) if p + r > 0 else 0.0
    return score if decimals is None else round(score, decimals)

"""Accuracy and F1 of predicted classes by scikit-learn's rules, and B3 of clusters.

Labels are single, (n,), or multi-labels, (n, c) of 0 and 1. The classes of single labels are those present in
gold or predictions; those of multi-labels are all columns. A class without any item (0 / 0) has F1 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles, check_aligned, safe_divide
from sciprism.errors import InputError

Average = Literal["binary", "macro", "micro"]
Outcomes = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionCounts:
    """True positives, false positives and false negatives of each class, each (..., c)."""

    tp: Doubles
    fp: Doubles
    fn: Doubles


def accuracy(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of items with the right label; of multi-label items, with all labels right."""
    right = correct(gold, predicted)
    return float(right.mean()) if len(right) else float("nan")


def correct(gold: ArrayLike, predicted: ArrayLike) -> Outcomes:
    """Mark the items (n,) with the right label, or with all labels right."""
    truth, guess = _pair(gold, predicted)
    wrong: Outcomes = (truth != guess) if truth.ndim == 1 else (truth != guess).any(axis=1, keepdims=True)[:, 0]
    return ~wrong


def f1(gold: ArrayLike, predicted: ArrayLike, average: Average) -> float:
    """Return the F1 of class 1 ("binary"), averaged over classes ("macro"), or of all decisions ("micro").

    InputError for "binary" with more than class 1 and one other, or with multi-labels.
    """
    truth, guess = _pair(gold, predicted)
    if average not in get_args(Average):
        raise InputError(f"unknown average {average!r}; known: {', '.join(get_args(Average))}")
    if truth.ndim == 2 and average == "binary":
        raise InputError('multi-labels have no "binary" F1; use "macro" or "micro"')
    labels = None if truth.ndim == 2 else np.union1d(truth, guess)
    if labels is not None and average == "binary":
        if len(labels) > 2 or (len(labels) == 2 and 1 not in labels):
            raise InputError(f'"binary" F1 is that of class 1 against one other; the classes are {labels.tolist()}')
        labels = np.array([1])
    tp, fp, fn = (part.sum(axis=0, dtype=np.float64) for part in outcomes(truth, guess, labels))
    return float(f1_of_counts(ConfusionCounts(tp, fp, fn), "micro" if average == "micro" else "macro"))


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


def f1_of_counts(counts: ConfusionCounts, average: Literal["macro", "present", "micro"]) -> Doubles:
    """Return the F1 of counts (..., c) -> (...): 2 tp / (2 tp + fp + fn).

    "macro" averages all classes, "present" those in gold or predictions; "micro" adds up the counts first.
    """
    hit, wrong = 2 * counts.tp, counts.fp + counts.fn
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

"""Folds for cross-validation, the same rows in each as scikit-learn's, without shuffling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError

Integers = NDArray[np.int64]


def plain_folds(rows: int, folds: int) -> Integers:
    """Return the fold of each row (n,): runs of equal length, the first ones longer by one (KFold)."""
    _check(rows, folds)
    sizes = np.full(folds, rows // folds)
    sizes[: rows % folds] += 1
    return np.repeat(np.arange(folds), sizes)


def stratified_folds(labels: NDArray[Any], folds: int) -> Integers:
    """Return the fold of each row (n,), so that every class is spread evenly (StratifiedKFold).

    How many rows of a class a fold gets: lay all rows in order of their class (classes in the order in which
    they first occur) and deal them out one by one. Which rows: each class's rows, in their order, fill its
    places in the first fold, then in the second, and so on.
    """
    _check(len(labels), folds)
    _, first, classes = np.unique(labels, return_index=True, return_inverse=True)
    counts = np.bincount(classes)
    if (counts < folds).all():
        raise InputError(
            f"every class has fewer rows than there are folds ({folds}); give more rows or use fewer folds"
        )
    found = np.empty(len(labels), np.int64)
    dealt = 0
    for number in np.argsort(first):
        shares = np.bincount((dealt + np.arange(counts[number])) % folds, minlength=folds)
        found[classes == number] = np.repeat(np.arange(folds), shares)
        dealt += int(counts[number])
    return found


def _check(rows: int, folds: int) -> None:
    if folds < 2 or folds > rows:
        raise InputError(f"{folds} folds of {rows} rows; give at least 2 folds and as many rows")

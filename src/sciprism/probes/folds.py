"""Folds for cross-validation, identical to scikit-learn's without shuffling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Integers
from sciprism.errors import InputError


def plain_folds(rows: int, folds: int) -> Integers:
    """Return the fold of each row (n,): contiguous, the first folds larger by one (KFold)."""
    _check(rows, folds)
    sizes = np.full(folds, rows // folds)
    sizes[: rows % folds] += 1
    return np.repeat(np.arange(folds), sizes)


def stratified_folds(labels: NDArray[Any], folds: int) -> Integers:
    """Return the fold of each row (n,), every class spread evenly (StratifiedKFold).

    Number of rows of a class per fold: all rows, sorted by class (in order of first occurrence), are dealt to
    the folds in turn. Which rows: a class's rows, in their order, fill its share of the first fold, then of
    the second, and so on.
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

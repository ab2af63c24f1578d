"""Choose a part of labelled rows that keeps the shares of the labels (SciRepEval's training code)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.seeding import random_fraction

SEED = 42
"""Of the published sample."""


def stratified(classes: Sequence[int] | NDArray[np.int64], most: int, seed: int = SEED) -> Rows:
    """Return `most` rows, ascending, with each class in its share; all where there are no more, or for 0.

    classes: one number of each row. The draw is that of scikit-learn's `train_test_split` with this seed and
    `stratify`, row for row, so the published sample is had again from the published data.
    """
    numbers = np.asarray(classes, np.int64)
    if not most or len(numbers) <= most:
        return np.arange(len(numbers))
    _, own, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(own, kind="stable"), np.cumsum(counts)[:-1])
    random = np.random.RandomState(seed)
    quotas = _quotas(counts, most, random)
    _quotas(counts - quotas, len(numbers) - most, random)  # the other part, drawn there in between
    kept = [rows[random.permutation(len(rows))][:quota] for rows, quota in zip(members, quotas, strict=True)]
    return np.sort(np.concatenate(kept))


def _quotas(counts: Rows, wanted: int, random: np.random.RandomState) -> Rows:
    """Share out `wanted` rows by largest remainder; chance decides between equal ones."""
    exact = counts / counts.sum() * wanted
    quotas: NDArray[np.float64] = np.floor(exact)
    missing = int(wanted - quotas.sum())
    for value in np.unique(exact - quotas)[::-1]:
        if missing == 0:
            break
        (equal,) = np.where(exact - np.floor(exact) == value)
        chosen = random.choice(equal, size=min(len(equal), missing), replace=False)
        quotas[chosen] += 1
        missing -= len(chosen)
    return quotas.astype(np.int64)


def iteratively_stratified(carried: Sequence[Sequence[int]], most: int, seed: int = SEED) -> Rows:
    """Return `most` rows, ascending, with each of several labels in its share; all where there are no more.

    carried: label numbers of each row. Iterative stratification of order 1 (Sechidis et al., 2011): the label
    with the fewest rows left is dealt out first, each row to the part that lacks the label most, then to the
    one with more room, then by hash. A full part takes nothing more, so the size is exact.
    """
    size = len(carried)
    if not most or size <= most:
        return np.arange(size)
    holders: dict[int, list[int]] = defaultdict(list)
    for row in sorted(range(size), key=lambda row: random_fraction(seed, row)):
        for label in {*carried[row]}:
            holders[label].append(row)
    parts = _Parts(most, size, {label: len(rows) for label, rows in holders.items()}, seed)
    while any(parts.left.values()):
        label = min((left, label) for label, left in parts.left.items() if left)[1]
        for row in holders[label]:
            if row not in parts.of:
                parts.put(row, {*carried[row]}, label)
    rest = sorted(
        (row for row in range(size) if row not in parts.of), key=lambda row: random_fraction(seed, row)
    )
    kept = [row for row, part in parts.of.items() if part == 0]
    return np.sort(np.array([*kept, *rest[: parts.room[0]]], np.int64))


class _Parts:
    """The part that is kept and the other one: which row is in which, and what each lacks."""

    def __init__(self, most: int, size: int, counts: dict[int, int], seed: int) -> None:
        self.of: dict[int, int] = {}
        self.room = [most, size - most]
        self.left = dict(counts)
        self._lacks = [{label: n * room / size for label, n in counts.items()} for room in self.room]
        self._seed = seed

    def put(self, row: int, labels: set[int], by: int) -> None:
        """Deal one row out because of one of its labels."""
        free = [part for part in (0, 1) if self.room[part]]
        part = max(free, key=lambda part: (self._lacks[part][by], self.room[part], self._chance(row, part)))
        self.of[row] = part
        self.room[part] -= 1
        for label in labels:
            self.left[label] -= 1
            self._lacks[part][label] -= 1

    def _chance(self, row: int, part: int) -> float:
        return random_fraction(self._seed, row, part)

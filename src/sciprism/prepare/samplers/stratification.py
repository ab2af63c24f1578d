"""Sample labelled rows so that each label keeps its share (SciRepEval's training code)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.seeding import random_fraction

SEED = 42
"""Of the published sample."""


def sample_stratified(classes: Sequence[int] | NDArray[np.int64], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each class in its share; all if there are no more, or for 0.

    classes: one number of each row. Row for row the sample of scikit-learn's `train_test_split` with this
    seed and `stratify`: the published data give the published sample.
    """
    numbers = np.asarray(classes, np.int64)
    if not size or len(numbers) <= size:
        return np.arange(len(numbers))
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    random = np.random.RandomState(seed)
    quotas = _quotas(counts, size, random)
    _quotas(counts - quotas, len(numbers) - size, random)  # scikit-learn samples the other part in between
    selected = [rows[random.permutation(len(rows))][:quota] for rows, quota in zip(members, quotas, strict=True)]
    return np.sort(np.concatenate(selected))


def _quotas(counts: Rows, wanted: int, random: np.random.RandomState) -> Rows:
    """Distribute `wanted` rows by largest remainder; ties are broken at random."""
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


def sample_iteratively_stratified(labels: Sequence[Sequence[int]], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each of several labels in its share; all if there are no more.

    labels: label numbers of each row. Iterative stratification of order 1 (Sechidis et al., 2011): the label
    with the fewest unassigned rows comes first; each of its rows goes to the part that lacks the label most,
    then to the one with more room, then by hash. A full part takes no more, so the size is exact.
    """
    total = len(labels)
    if not size or total <= size:
        return np.arange(total)
    order = sorted(range(total), key=lambda row: random_fraction(seed, row))
    holders: dict[int, list[int]] = defaultdict(list)
    for row in order:
        for label in {*labels[row]}:
            holders[label].append(row)
    split = _IterativeSplit(size, total, {label: len(rows) for label, rows in holders.items()}, seed)
    while any(split.unassigned.values()):
        label = min((count, label) for label, count in split.unassigned.items() if count)[1]
        for row in holders[label]:
            if row not in split.part_of:
                split.assign(row, {*labels[row]}, label)
    rest = [row for row in order if row not in split.part_of]
    selected = [row for row, part in split.part_of.items() if part == 0]
    return np.sort(np.array([*selected, *rest[: split.room[0]]], np.int64))


class _IterativeSplit:
    """The part that is selected (0) and the other one: the part of each row, and what each part lacks."""

    def __init__(self, size: int, total: int, counts: dict[int, int], seed: int) -> None:
        self.part_of: dict[int, int] = {}
        self.room = [size, total - size]
        self.unassigned = dict(counts)
        self._lacks = [{label: n * room / total for label, n in counts.items()} for room in self.room]
        self._seed = seed

    def assign(self, row: int, labels: set[int], by: int) -> None:
        """Assign one row to a part because of one of its labels."""

        def priority(part: int) -> tuple[float, int, float]:
            return self._lacks[part][by], self.room[part], random_fraction(self._seed, row, part)

        part = max((part for part in (0, 1) if self.room[part]), key=priority)
        self.part_of[row] = part
        self.room[part] -= 1
        for label in labels:
            self.unassigned[label] -= 1
            self._lacks[part][label] -= 1

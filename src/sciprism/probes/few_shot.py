"""Few-shot probes: many small training subsets with a fixed C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Integers
from sciprism.errors import InputError
from sciprism.probes.fit import fit_subsets
from sciprism.probes.losses import LOSSES, LossName
from sciprism.probes.probe import Probe
from sciprism.probes.targets import ProbeTargets, read_targets
from sciprism.probes.weights import check_features


def fit_probes(
    features: NDArray[np.floating],
    targets: NDArray[Any],
    subsets: Sequence[Integers],
    *,
    loss: LossName = "squared_hinge",
    cost: float = 1.0,
    intercept: bool = False,
) -> list[Probe]:
    """Fit one probe on each subset (row numbers) of features (n, d), with C = cost.

    targets as in `grid_search`. A class that a subset lacks is never predicted by its probe; a subset with
    a single class is an InputError. A label that is constant in a subset is always predicted so.
    """
    rows = check_features(features)
    known = read_targets(targets, len(rows), LOSSES[loss].margins)
    columns = np.ascontiguousarray(known.columns.T)
    weights = fit_subsets(rows, columns, subsets, loss=loss, cost=cost, intercept=intercept)
    return [
        _build_subset_probe(known, subset, number, vectors, shifts)
        for number, (subset, vectors, shifts) in enumerate(
            zip(subsets, weights.vectors, weights.intercepts, strict=True)
        )
    ]


def _build_subset_probe(known: ProbeTargets, subset: Integers, number: int, vectors: Doubles, shifts: Doubles) -> Probe:
    """Build the probe of one subset, without the classes that it lacks."""
    if known.kind == "labels":
        here = known.columns[:, subset]
        constant = (here == here[:, :1]).all(axis=1)
        vectors[constant], shifts[constant] = 0, here[constant, 0]
    if known.classes is None:
        return Probe(known.kind, vectors.astype(np.float32), shifts.astype(np.float32))
    seen = np.unique(known.truth[subset])
    if len(seen) < 2:
        raise InputError(f"subset {number} (of {len(subset)} rows) has one class only; sample subsets with two or more")
    rows = seen if len(vectors) > 1 else np.zeros(1, np.int64)
    seen_vectors, seen_shifts = vectors[rows].astype(np.float32), shifts[rows].astype(np.float32)
    return Probe(known.kind, seen_vectors, seen_shifts, known.classes[seen])

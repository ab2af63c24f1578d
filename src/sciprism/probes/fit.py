"""Fit probes with a given C: on all rows, on some rows, or on many small subsets at once (few-shot protocols)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Integers
from sciprism.errors import InputError
from sciprism.parallel import map_threads
from sciprism.probes.features import (
    PerProblemRows,
    Probe,
    ProbeTargets,
    add_constant_column,
    check_features,
    read_targets,
    row_space,
)
from sciprism.probes.losses import LOSSES, LossName, ProbeLoss, SlackBlock
from sciprism.probes.solver import TOLERANCE, Descent, Problems, Solver, Weights, split_intercept

MAX_STACKED = 1 << 25  # numbers in the stacked features of subsets that are solved together: 128 MiB
MAX_STACKED_ROWS = 512  # rows up to which subsets are stacked; larger subsets are solved one by one


def fit(
    features: Floats,
    targets: Floats,
    *,
    loss: LossName,
    cost: float | Sequence[float],
    intercept: bool,
    rows: Integers | None = None,
    tolerance: float = TOLERANCE,
) -> Weights:
    """Fit one probe per column of targets (n, k) on features (n, d) -> weights of k problems.

    targets: +-1 (0: the problem ignores the row) for the hinge losses, real numbers for
    "epsilon_insensitive". cost: liblinear's C, one or one per column. rows: train on these only. Every
    problem ends at a relative duality gap below tolerance, or at the limit of double precision; see `gaps`.
    """
    features, signs = check_features(features), check_targets(targets, loss, len(features))
    if rows is not None:
        features, signs = features[rows], signs[rows]
    if not len(features):
        raise InputError("no rows to fit a probe on; give at least one")
    columns = torch.from_numpy(signs.T.copy())
    count = len(columns)
    problems = Problems(columns, torch.arange(count), check_costs(cost, count), held_out=torch.full((count,), -1))
    return Solver(features, intercept=intercept, problems=count).solve(problems, LOSSES[loss], tolerance)


def fit_subsets(
    features: Floats,
    targets: Floats,
    subsets: Sequence[Integers],
    *,
    loss: LossName,
    cost: float,
    intercept: bool,
) -> Weights:
    """Fit one probe per subset (row numbers) and column of targets (n, k) -> weights of (s, k) problems.

    Small subsets, as few-shot protocols sample them, are solved together.
    """
    features, signs = check_features(features), check_targets(targets, loss, len(features))
    if not subsets or not all(map(len, subsets)):
        raise InputError("a subset has no rows to fit a probe on; give at least one subset, each of one row or more")
    longest, count = max(map(len, subsets)), signs.shape[1]
    if longest <= MAX_STACKED_ROWS:
        share = longest * max(features.shape[1], longest * count)
        size = max(1, min(MAX_STACKED // share, -(-len(subsets) // torch.get_num_threads())))
        groups = [subsets[start : start + size] for start in range(0, len(subsets), size)]
        parts = map_threads(lambda group: _fit_stacked(features, signs, group, LOSSES[loss], cost, intercept), groups)
        names = ("vectors", "intercepts", "gaps")
        whole = Weights(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    else:
        zeros = np.zeros((len(subsets), count))
        vectors = np.zeros((*zeros.shape, features.shape[1]))
        whole = Weights(vectors, zeros, np.full_like(zeros, np.inf))
    for i in np.flatnonzero((whole.gaps > TOLERANCE).any(axis=1)):
        one = fit(features, signs, loss=loss, cost=cost, intercept=intercept, rows=subsets[int(i)])
        whole.vectors[i], whole.intercepts[i], whole.gaps[i] = one.vectors, one.intercepts, one.gaps
    return whole


def _fit_stacked(
    features: Floats, targets: Floats, subsets: Sequence[Integers], loss: ProbeLoss, cost: float, intercept: bool
) -> Weights:
    """Solve subsets together; shorter ones are padded with zero rows, which change nothing."""
    # few rows often leave no loss, where a corner needs more digits than single precision has
    dtype = torch.double if loss.cornered else torch.float32
    count = targets.shape[1]
    longest = max(map(len, subsets))
    rows = torch.zeros(len(subsets), longest, features.shape[1] + intercept)
    columns = torch.zeros(len(subsets), count, longest, dtype=dtype)
    for i, subset in enumerate(subsets):
        rows[i, : len(subset)] = add_constant_column(features[subset], intercept)
        columns[i, :, : len(subset)] = torch.from_numpy(targets[subset].T.copy())
    back, spectrum = row_space(rows)
    rotated = (back * spectrum[:, None, :]).to(dtype).repeat_interleave(count, 0)
    start = torch.zeros(len(rotated), longest, dtype=dtype)
    block = SlackBlock(loss, PerProblemRows(rotated), torch.arange(len(rotated)), columns.flatten(0, 1), start)
    spectra, costs = spectrum.to(dtype).repeat_interleave(count, 0), check_costs(cost, len(rotated))
    solution = Descent(loss, [block], start, costs=costs, spectrum=spectra, rows=longest).solve(TOLERANCE)
    whole = (solution.weights.view(len(subsets), count, -1).double() @ back.mT) @ rows.double()
    return split_intercept(whole.flatten(0, 1), solution.gaps, intercept).shaped(len(subsets), count)


def check_costs(cost: float | Sequence[float], count: int) -> Tensor:
    """Return C of each of count problems (p,); InputError unless it is above 0."""
    costs = torch.as_tensor(cost, dtype=torch.double).expand(count)
    if not bool(((costs > 0) & costs.isfinite()).all()):
        raise InputError(f"C is {cost}; give numbers above 0")
    return costs


def check_targets(targets: Floats, loss: LossName, rows: int) -> Floats:
    """Return targets (n, k) as float32, +-1 or 0 for the hinges and finite numbers for real targets."""
    if targets.ndim != 2 or len(targets) != rows:
        raise InputError(f"targets have shape {targets.shape}; give one row for each of the {rows} rows of features")
    checked = np.ascontiguousarray(targets, np.float32)
    if LOSSES[loss].margins and not np.isin(checked, (-1, 0, 1)).all():
        raise InputError(f"targets of the loss {loss} must be -1 or 1, or 0 for an ignored row")
    if not np.isfinite(checked).all():
        raise InputError("targets hold NaN, infinity or a number beyond float32; remove these rows")
    return checked


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
    checked = read_targets(targets, len(rows), LOSSES[loss].margins)
    columns = np.ascontiguousarray(checked.columns.T)
    weights = fit_subsets(rows, columns, subsets, loss=loss, cost=cost, intercept=intercept)
    parts = enumerate(zip(subsets, weights.vectors, weights.intercepts, strict=True))
    return [_build_subset_probe(checked, number, *part) for number, part in parts]


def _build_subset_probe(
    targets: ProbeTargets, number: int, subset: Integers, vectors: Doubles, shifts: Doubles
) -> Probe:
    """Build the probe of one subset, without the classes that it lacks."""
    if targets.kind == "labels":
        here = targets.columns[:, subset]
        constant = (here == here[:, :1]).all(axis=1)
        vectors[constant], shifts[constant] = 0, here[constant, 0]
    if targets.classes is None:
        return Probe(targets.kind, vectors.astype(np.float32), shifts.astype(np.float32))
    seen = np.unique(targets.truth[subset])
    if len(seen) < 2:
        raise InputError(f"subset {number} (of {len(subset)} rows) has one class only; sample subsets with two or more")
    rows = seen if len(vectors) > 1 else np.zeros(1, np.int64)
    seen_vectors, seen_shifts = vectors[rows].astype(np.float32), shifts[rows].astype(np.float32)
    return Probe(targets.kind, seen_vectors, seen_shifts, targets.classes[seen])

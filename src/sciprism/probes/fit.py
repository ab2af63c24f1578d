"""Fit probes with a given C: on all rows, on some of them, or on many small subsets at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.cores import on_all_cores
from sciprism.errors import InputError
from sciprism.probes.basis import row_space
from sciprism.probes.descent import Descent
from sciprism.probes.losses import LOSSES, Loss, LossName
from sciprism.probes.rows import OwnRows
from sciprism.probes.solver import TOLERANCE, Problems, Solver, make_piece, starting_widths
from sciprism.probes.weights import Integers, Weights, checked_features, parted, with_constant

STACKED = 1 << 25
"""Numbers that the features of subsets solved at once may hold: 128 MiB."""
FEW = 512
"""Rows up to which subsets are stacked; larger ones are worth a solver of their own."""


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

    targets: +-1 (0: the row is left out of this problem) for the hinges, real numbers for
    "epsilon_insensitive". cost: liblinear's C, one or one per column. rows: train on these alone. Every
    problem ends at a relative duality gap below tolerance, or where double precision ends; see `gaps`.
    """
    features, signs = checked_features(features), checked_targets(targets, loss, len(features))
    if rows is not None:
        features, signs = features[rows], signs[rows]
    if not len(features):
        raise InputError("no rows to fit a probe on; give at least one")
    columns = torch.from_numpy(signs.T.copy())
    count = len(columns)
    costs = checked_costs(cost, count)
    problems = Problems(columns, torch.arange(count), costs, torch.full((count,), -1))
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

    Subsets of a few rows, as few-shot protocols draw them, are solved all at once.
    """
    features, signs = checked_features(features), checked_targets(targets, loss, len(features))
    if not subsets or not all(map(len, subsets)):
        raise InputError(
            "a subset has no rows to fit a probe on; give at least one subset, each of one row or more"
        )
    longest, count = max(map(len, subsets)), signs.shape[1]
    found: list[Weights] = []
    if longest <= FEW:
        share = longest * max(features.shape[1], longest * count)
        size = max(1, min(STACKED // share, -(-len(subsets) // torch.get_num_threads())))
        groups = [subsets[start : start + size] for start in range(0, len(subsets), size)]
        found = on_all_cores(
            lambda group: _stacked(features, signs, group, LOSSES[loss], cost, intercept), groups
        )
        gaps = np.concatenate([part.gaps for part in found])
    else:
        gaps = np.full((len(subsets), count), np.inf)
    whole = _united(found, len(subsets), count, features.shape[1])
    for i in np.flatnonzero((gaps > TOLERANCE).any(axis=1)):
        one = fit(features, signs, loss=loss, cost=cost, intercept=intercept, rows=subsets[int(i)])
        whole.vectors[i], whole.intercepts[i] = one.vectors, one.intercepts
        whole.gaps[i], whole.iterations[i] = one.gaps, one.iterations
    return whole


def _stacked(
    features: Floats, targets: Floats, subsets: Sequence[Integers], loss: Loss, cost: float, intercept: bool
) -> Weights:
    """Solve subsets together, the shorter ones filled up with rows of zeros, which change nothing."""
    # A few rows often leave no loss, where a corner needs more digits than single precision has.
    dtype = torch.double if loss.cornered else torch.float32
    count = targets.shape[1]
    longest = max(map(len, subsets))
    rows = torch.zeros(len(subsets), longest, features.shape[1] + intercept)
    columns = torch.zeros(len(subsets), count, longest, dtype=dtype)
    for i, subset in enumerate(subsets):
        rows[i, : len(subset)] = with_constant(features[subset], intercept)
        columns[i, :, : len(subset)] = torch.from_numpy(targets[subset].T.copy())
    back, spectrum = row_space(rows)
    turned = (back * spectrum[:, None, :]).to(dtype).repeat_interleave(count, 0)
    start = torch.zeros(len(turned), longest, dtype=dtype)
    piece = make_piece(loss, OwnRows(turned), torch.arange(len(turned)), columns.flatten(0, 1), start)
    solution = Descent(
        loss,
        [piece],
        start,
        costs=checked_costs(cost, len(turned)) * loss.weight,
        spectrum=spectrum.to(dtype).repeat_interleave(count, 0),
        rows=longest,
        widths=starting_widths(loss, [piece], len(turned), start.dtype),
    ).solve(TOLERANCE)
    whole = (solution.weights.view(len(subsets), count, -1).double() @ back.mT) @ rows.double()
    found = parted(whole.flatten(0, 1), solution.gaps, solution.iterations, intercept)
    return found.shaped(len(subsets), count)


def _united(parts: Sequence[Weights], subsets: int, count: int, width: int) -> Weights:
    if not parts:
        shape = (subsets, count)
        empty = np.zeros((*shape, width)), np.zeros(shape)
        return Weights(*empty, np.full(shape, np.inf), np.zeros(shape, np.int64))
    names = ("vectors", "intercepts", "gaps", "iterations")
    return Weights(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def checked_costs(cost: float | Sequence[float], count: int) -> Tensor:
    """Return C of each of count problems (p,); it must be above 0."""
    costs = torch.as_tensor(cost, dtype=torch.double).expand(count)
    if not bool(((costs > 0) & costs.isfinite()).all()):
        raise InputError(f"C is {cost}; give numbers above 0")
    return costs


def checked_targets(targets: Floats, loss: LossName, rows: int) -> Floats:
    """Return targets (n, k) as float32, +-1 or 0 for the hinges and finite numbers for real targets."""
    if targets.ndim != 2 or len(targets) != rows:
        raise InputError(
            f"targets have shape {targets.shape}; give one row for each of the {rows} rows of features"
        )
    found = np.ascontiguousarray(targets, np.float32)
    if LOSSES[loss].margins and not np.isin(found, (-1, 0, 1)).all():
        raise InputError(f"targets of the loss {loss} must be -1 or 1, or 0 for a row left out")
    if not np.isfinite(found).all():
        raise InputError("targets hold NaN, infinity or a number beyond float32; remove these rows")
    return found

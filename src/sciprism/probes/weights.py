"""Weights of linear probes, with separate intercepts or with the intercept as an additional feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Integers
from sciprism.errors import InputError


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted vectors (..., d), intercepts (...), 0 without one, and relative duality gaps (...).

    A gap is an upper bound of (objective - minimum) / objective. iterations (...): the solver's. All are in
    double precision: where almost no loss is left, rounding errors of single precision matter.
    """

    vectors: Doubles
    intercepts: Doubles
    gaps: Doubles
    iterations: Integers

    def shaped(self, *shape: int) -> Weights:
        """Return the same weights with the problems in another shape."""
        return Weights(
            self.vectors.reshape(*shape, -1),
            self.intercepts.reshape(shape),
            self.gaps.reshape(shape),
            self.iterations.reshape(shape),
        )


def check_features(features: NDArray[np.floating], what: str = "features") -> Floats:
    """Return features (n, d) as float32; InputError for values that are not finite."""
    if features.ndim != 2:
        raise InputError(f"{what} have shape {features.shape}; give one row per paper")
    found = np.ascontiguousarray(features, np.float32)
    broken = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(broken):
        raise InputError(
            f"{what}: {len(broken)} of {len(found)} rows hold NaN, infinity or a number beyond float32 "
            f"(first: row {broken[0]}); remove these rows or correct the vectors"
        )
    return found


def add_constant_column(features: Floats, intercept: bool) -> Tensor:
    """Return features (n, d), with an additional column of ones if there is an intercept."""
    if intercept:
        features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
    return torch.from_numpy(features)


def join_intercept(weights: Weights, intercept: bool) -> Tensor:
    """Return weights as one matrix (p, d) or (p, d + 1), the form of the solver."""
    parts = [weights.vectors, *([weights.intercepts[:, None]] if intercept else [])]
    return torch.from_numpy(np.concatenate(parts, axis=1))


def split_intercept(whole: Tensor, gaps: Tensor, iterations: Tensor, intercept: bool) -> Weights:
    """Return weights (p, d) or (p, d + 1) with the intercept separated."""
    rows = whole.double().numpy()
    vectors, last = (rows[:, :-1], rows[:, -1]) if intercept else (rows, np.zeros(len(rows)))
    return Weights(np.ascontiguousarray(vectors), last.copy(), gaps.numpy(), iterations.numpy())

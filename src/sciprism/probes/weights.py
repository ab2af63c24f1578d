"""Weights of linear probes, with the intercept beside them or as one more feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Doubles, Floats
from sciprism.errors import InputError

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted: vectors (..., d), intercepts (...), 0 without one, and relative duality gaps (...).

    A gap bounds (objective - least objective) / objective from above. iterations (...) are the solver's.
    All in double precision: where next to no loss is left, the last digits of single precision are some.
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


def checked_features(features: NDArray[np.floating], what: str = "features") -> Floats:
    """Return features (n, d) as float32; numbers that are not finite there are an InputError."""
    if features.ndim != 2:
        raise InputError(f"{what} have shape {features.shape}; give one row per paper")
    found = np.ascontiguousarray(features, np.float32)
    broken = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(broken):
        raise InputError(
            f"{what}: {len(broken)} of {len(found)} rows hold NaN, infinity or a number beyond float32 "
            f"(first: row {broken[0]}); remove these rows or mend the vectors"
        )
    return found


def with_constant(features: Floats, intercept: bool) -> Tensor:
    """Return features (n, d) with one more column of ones where there is an intercept."""
    if intercept:
        features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
    return torch.from_numpy(features)


def joined(weights: Weights, intercept: bool) -> Tensor:
    """Return weights as one matrix (p, d) or (p, d + 1), as the solver holds them."""
    parts = [weights.vectors, *([weights.intercepts[:, None]] if intercept else [])]
    return torch.from_numpy(np.concatenate(parts, axis=1))


def parted(whole: Tensor, gaps: Tensor, iterations: Tensor, intercept: bool) -> Weights:
    """Take the intercept out of weights (p, d) or (p, d + 1)."""
    rows = whole.double().numpy()
    vectors, last = (rows[:, :-1], rows[:, -1]) if intercept else (rows, np.zeros(len(rows)))
    return Weights(np.ascontiguousarray(vectors), last.copy(), gaps.numpy(), iterations.numpy())

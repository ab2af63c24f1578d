"""Rows of features for the solver's products, and features in the coordinates of their principal directions.

In these coordinates the sum of x x^T over all rows is diagonal, and so, nearly, is the curvature of any probe
on a subset of the rows. A diagonal preconditioner then saves nine iterations in ten; lengths of weights do
not change. With fewer rows than features there are only as many coordinates as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Floats, inner_products
from sciprism.errors import InputError
from sciprism.parallel import map_threads


def check_features(features: NDArray[np.floating]) -> Floats:
    """Return features (n, d) as float32; InputError for values that are not finite."""
    if features.ndim != 2:
        raise InputError(f"features have shape {features.shape}; give one row per paper")
    checked = np.ascontiguousarray(features, np.float32)
    broken = np.flatnonzero(~np.isfinite(checked).all(axis=1))
    if len(broken):
        raise InputError(
            f"features: {len(broken)} of {len(checked)} rows hold NaN, infinity or a number beyond float32 "
            f"(first: row {broken[0]}); remove these rows or correct the vectors"
        )
    return checked


def add_constant_column(features: Floats, intercept: bool) -> Tensor:
    """Return features (n, d), with an additional column of ones if there is an intercept."""
    if intercept:
        features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
    return torch.from_numpy(features)


class SharedRows:
    """Rows (n, r) that all problems share: a problem is one row of a matrix product.

    Stored in both memory orders: each product reads the faster one.
    """

    def __init__(self, features: Tensor) -> None:
        self.features = features
        self.transposed = features.T.contiguous()

    def scores(self, weights: Tensor, chosen: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Multiply with weights (p, r) -> (p, n)."""
        return row_products(weights, self.features)

    def combine(self, duals: Tensor, chosen: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Add up the rows weighted by duals (p, n) -> (p, r)."""
        return row_products(duals, self.transposed)

    def keep(self, remaining: Tensor) -> SharedRows:  # noqa: ARG002
        """Return the same rows."""
        return self


class PerProblemRows:
    """Rows (p, n, r), different for each problem: for many problems of a few rows each."""

    def __init__(self, features: Tensor) -> None:
        self.features = features

    def scores(self, weights: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Multiply with weights (p, r) -> (p, n); chosen: the problems (p,) that the weights belong to."""
        features = self.features if chosen is None else self.features[chosen]
        return (features @ weights[:, :, None])[:, :, 0]

    def combine(self, duals: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Add up the rows weighted by duals (p, n) -> (p, r); chosen: their problems (p,)."""
        features = self.features if chosen is None else self.features[chosen]
        return (duals[:, None, :] @ features)[:, 0, :]

    def keep(self, remaining: Tensor) -> PerProblemRows:
        """Return the rows of the problems that are True in a mask (p,)."""
        return PerProblemRows(self.features[remaining])


FeatureRows = SharedRows | PerProblemRows


def row_products(left: Tensor, right: Tensor) -> Tensor:
    """Return the dot products of all rows of left and right -> (m, n), in single or double precision."""
    return inner_products(left, right) if left.element_size() == 4 else left @ right.T


GRAM_BLOCK = 8192  # rows whose products are summed in single precision
NEGLIGIBLE = 1e-12  # directions with an eigenvalue below this share of the largest are rounding errors


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows of the features: their numbers (n,), their part (fold), and the rows in the basis."""

    numbers: Tensor
    part: int
    rows: SharedRows


@dataclass(frozen=True, slots=True)
class PrincipalBasis:
    """Features in blocks, rotated by axes (d, r); spectrum: the r eigenvalues of the sum of x x^T."""

    blocks: tuple[RowBlock, ...]
    axes: Tensor
    spectrum: Tensor
    rows: int

    @classmethod
    def build(cls, features: Tensor, parts: Sequence[Tensor], size: int) -> PrincipalBasis:
        """Rotate features (n, d) in their own precision; size: rows per block."""
        # on one core, like all that follows: cores that share a product wait for each other
        [(axes, spectrum)] = map_threads(principal_axes, [features])
        rotation = axes.T.contiguous()
        pieces = [
            (part, numbers)
            for part, all_numbers in enumerate(parts)
            for numbers in torch.split(all_numbers, size)
            if len(numbers)
        ]

        def rotate(piece: tuple[int, Tensor]) -> RowBlock:
            part, numbers = piece
            return RowBlock(numbers, part, SharedRows(row_products(features[numbers], rotation)))

        return cls(tuple(map_threads(rotate, pieces)), axes, spectrum, len(features))


def principal_axes(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return orthonormal axes (d, r) and eigenvalues (r,) of the sum of x x^T of the rows (n, d).

    r is the smaller of d and n; if it is n, negligible axes are zero.
    """
    count, width = features.shape
    if count < width:
        back, values = row_space(features)
        return (features.T.double() @ back).to(features.dtype), values.to(features.dtype)
    gram = torch.zeros(width, width, dtype=torch.double)
    for block in torch.split(features, GRAM_BLOCK):
        columns = block.T.contiguous()
        gram += row_products(columns, columns)
    values, axes = torch.linalg.eigh(gram)
    return axes.to(features.dtype), values.clamp_min(0).to(features.dtype)


def row_space(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix M (..., n, n) and eigenvalues (..., n) of rows X (..., n, d), in double precision.

    X^T M are the axes of `principal_axes`. The rotated rows, X X^T M, are M with each column times its
    eigenvalue. Negligible eigenvalues and their columns are 0.
    """
    wide = features.double()
    values, vectors = torch.linalg.eigh(wide @ wide.mT)
    sound = values > NEGLIGIBLE * values[..., -1:].clamp_min(1e-300)
    scale = torch.where(sound, values.rsqrt(), 0)
    return vectors * scale[..., None, :], torch.where(sound, values, 0)

"""Features in the coordinates of their principal directions.

In these coordinates the sum of x x^T over all rows is diagonal, and so, nearly, is the curvature of any probe
on a subset of the rows: a diagonal scale spares nine iterations in ten, and lengths of weights stay as they
are. Where there are fewer rows than features, there are only as many coordinates as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.cores import on_all_cores
from sciprism.probes.rows import SharedRows, products

BLOCK = 8192
"""Rows whose products are summed in single precision."""
NEGLIGIBLE = 1e-12
"""Directions with less of the largest eigenvalue are rounding errors."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of the features: their numbers (n,), the part (fold) they belong to, and the rows turned."""

    numbers: Tensor
    part: int
    rows: SharedRows


@dataclass(frozen=True, slots=True)
class Basis:
    """Features cut into blocks and turned by axes (d, r); spectrum: the r eigenvalues of the sum of x x^T."""

    blocks: tuple[Block, ...]
    axes: Tensor
    spectrum: Tensor
    rows: int

    @classmethod
    def of(cls, features: Tensor, parts: Sequence[Tensor], size: int) -> Basis:
        """Turn features (n, d) in their own precision, each part (row numbers) cut into blocks of a size."""
        # On one core, as all that follows: cores that share a product wait for each other.
        [(axes, spectrum)] = on_all_cores(principal_axes, [features])
        turn = axes.T.contiguous()
        pieces = [
            (part, numbers)
            for part, all_numbers in enumerate(parts)
            for numbers in torch.split(all_numbers, size)
            if len(numbers)
        ]

        def turned(piece: tuple[int, Tensor]) -> Block:
            part, numbers = piece
            return Block(numbers, part, SharedRows(products(features[numbers], turn)))

        return cls(tuple(on_all_cores(turned, pieces)), axes, spectrum, len(features))


def principal_axes(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return orthonormal axes (d, r) and eigenvalues (r,) of the sum of x x^T of the rows (n, d).

    r is d, or n where that is less; then axes of negligible size are zero.
    """
    count, width = features.shape
    if count < width:
        turned_back, values = row_space(features)
        return (features.T.double() @ turned_back).to(features.dtype), values.to(features.dtype)
    gram = torch.zeros(width, width, dtype=torch.double)
    for block in torch.split(features, BLOCK):
        turned = block.T.contiguous()
        gram += products(turned, turned)
    values, axes = torch.linalg.eigh(gram)
    return axes.to(features.dtype), values.clamp_min(0).to(features.dtype)


def row_space(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix M (..., n, n) and eigenvalues (..., n) of rows X (..., n, d), in double precision.

    X^T M are the axes of `principal_axes`. The rows turned by them, X X^T M, are M with each column times its
    eigenvalue. Negligible eigenvalues are 0, and so are their columns.
    """
    wide = features.double()
    values, vectors = torch.linalg.eigh(wide @ wide.mT)
    sound = values > NEGLIGIBLE * values[..., -1:].clamp_min(1e-300)
    scale = torch.where(sound, values.rsqrt(), 0)
    return vectors * scale[..., None, :], torch.where(sound, values, 0)

"""Rows of features as the solver multiplies them: in blocks that all problems share, or one set for each."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from sciprism.index.matmul import inner_products


class Rows(Protocol):
    """A block of n rows of width r, in both orders of memory: each product reads the one that suits it."""

    def scores(self, weights: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Multiply the rows with the weights (p, r) of each problem -> (p, n)."""
        ...

    def combine(self, duals: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Add up the rows, weighted by the numbers (p, n) of each problem -> (p, r)."""
        ...

    def keep(self, kept: Tensor) -> Rows:
        """Return the rows of those problems that are kept, True in a mask (p,)."""
        ...


class SharedRows:
    """Rows (n, r) that are the same for all problems, so that a problem is one line of a matrix product."""

    def __init__(self, features: Tensor) -> None:
        self.features = features
        self.transposed = features.T.contiguous()

    def scores(self, weights: Tensor, chosen: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Multiply with weights (p, r) -> (p, n)."""
        return products(weights, self.features)

    def combine(self, duals: Tensor, chosen: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Add up the rows weighted by duals (p, n) -> (p, r)."""
        return products(duals, self.transposed)

    def keep(self, kept: Tensor) -> SharedRows:  # noqa: ARG002
        """Return the same rows."""
        return self


class OwnRows:
    """Rows (p, n, r), others for every problem: for many problems of a few rows each."""

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

    def keep(self, kept: Tensor) -> OwnRows:
        """Return the rows of the problems kept."""
        return OwnRows(self.features[kept])


def products(left: Tensor, right: Tensor) -> Tensor:
    """Multiply every row of left with every row of right -> (m, n), in single or double precision."""
    return inner_products(left, right) if left.element_size() == 4 else left @ right.T

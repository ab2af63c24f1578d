"""Rows of features for the solver's products: shared by all problems, or one set per problem."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from sciprism.arrays import inner_products


class FeatureRows(Protocol):
    """A block of n rows of width r, shared by p problems or different for each."""

    def scores(self, weights: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Multiply the rows with the weights (p, r) of each problem -> (p, n)."""
        ...

    def combine(self, duals: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Add up the rows, weighted by the numbers (p, n) of each problem -> (p, r)."""
        ...

    def keep(self, remaining: Tensor) -> FeatureRows:
        """Return the rows of the problems that are True in a mask (p,)."""
        ...


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
        """Return the rows of the remaining problems."""
        return PerProblemRows(self.features[remaining])


def row_products(left: Tensor, right: Tensor) -> Tensor:
    """Return the dot products of all rows of left and right -> (m, n), in single or double precision."""
    return inner_products(left, right) if left.element_size() == 4 else left @ right.T

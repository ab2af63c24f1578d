"""Triplet margin loss (SPECTER, equation 1; SciRepEval's proximity and search formats)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def triplet_margin(
    queries: Tensor, positives: Tensor, negatives: Tensor, *, margin: float = 1.0, distance: str = "euclidean"
) -> Tensor:
    """Return the mean over rows of max(0, d(query, positive) - d(query, negative) + margin).

    queries, positives, negatives: (B, D). distance: euclidean (the papers'), cosine (1 - cosine) or dot
    (the product with a minus sign).
    """
    near, far = (_distance(queries, other, distance) for other in (positives, negatives))
    return F.relu(near - far + margin).mean()


def _distance(left: Tensor, right: Tensor, name: str) -> Tensor:
    if name == "euclidean":
        squares = (left - right).square().sum(dim=-1)
        return squares.clamp_min(1e-12).sqrt()  # no infinite slope where they meet
    if name == "cosine":
        return 1 - F.cosine_similarity(left, right, dim=-1)
    if name == "dot":
        return -(left * right).sum(dim=-1)
    raise ValueError(f"unknown distance {name!r}; known: euclidean, cosine, dot")

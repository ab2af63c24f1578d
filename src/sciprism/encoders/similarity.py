"""Similarities of vectors by a stated distance, with the values of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from sciprism.arrays import Floats

Vectors = Floats | Tensor | Sequence[Floats] | Sequence[Tensor]
"""(n, dim), (dim,), or a list of n vectors."""


def compute_similarity(one: Vectors, other: Vectors, distance: str) -> Tensor:
    """Return the similarity of each vector of `one` with each of `other`, (n, m); larger is more similar."""
    a, b = _to_matrix(one), _to_matrix(other)
    if distance == "euclidean":
        return -torch.cdist(a, b)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T if distance == "cosine" else a @ b.T


def compute_pairwise_similarity(one: Vectors, other: Vectors, distance: str) -> Tensor:
    """Return the similarity of each vector of `one` with that of `other` in the same row, (n,)."""
    a, b = _to_matrix(one), _to_matrix(other)
    return _PAIRWISE[distance](a, b)


_PAIRWISE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cosine": lambda a, b: (F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(dim=-1),
    "dot": lambda a, b: (a * b).sum(dim=-1),
    "euclidean": lambda a, b: -(a - b).norm(dim=-1),
}


def _to_matrix(vectors: Vectors) -> Tensor:
    if isinstance(vectors, Sequence):
        vectors = torch.stack([torch.as_tensor(vector) for vector in vectors])
    matrix = torch.as_tensor(vectors).float()
    return matrix[None] if matrix.ndim == 1 else matrix

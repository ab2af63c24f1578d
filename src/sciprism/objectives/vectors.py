"""Distillation of vectors (Kim et al. 2023, EmbedDistill; here by cosines)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def vector_distillation(teacher: Tensor, student: Tensor) -> Tensor:
    """Return the mean of 1 - cosine between vectors of the same texts, both (B, D)."""
    return 1 - F.cosine_similarity(teacher.detach().float(), student.float(), dim=1).mean()

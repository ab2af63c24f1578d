"""Distillation of vectors (Kim et al. 2023, EmbedDistill; here by cosines) and of similarities (INDUS, section 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def vector_distillation(teacher: Tensor, student: Tensor) -> Tensor:
    """Return the mean of 1 - cosine between vectors of the same texts, both (B, D)."""
    return 1 - F.cosine_similarity(teacher.detach().float(), student.float(), dim=1).mean()


def similarity_distillation(teacher: Tensor, student: Tensor, *, temperature: float, symmetric: bool = False) -> Tensor:
    """Return the mean over rows of the cross-entropy of the student's distribution under the teacher's.

    teacher, student: scores (B, C) of the same queries and passages, each over its model's own temperature.
    temperature: of both distributions, tau_KD. symmetric: the mean with the passages' distributions over the
    queries, for square scores.
    """
    if symmetric:
        both = ((teacher, student), (teacher.T, student.T))
        return torch.stack([similarity_distillation(t, s, temperature=temperature) for t, s in both]).mean()
    target = (teacher.detach().float() / temperature).softmax(dim=1)
    return F.cross_entropy(student.float() / temperature, target)

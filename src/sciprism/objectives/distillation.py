"""Distillation of vectors, of similarities, and of self-attention relations between tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F


def vector_distillation(teacher: Tensor, student: Tensor) -> Tensor:
    """Return the mean of 1 - cosine between vectors of the same texts, both (B, D)."""
    return 1 - F.cosine_similarity(teacher.detach().float(), student.float(), dim=1).mean()


def similarity_distillation(teacher: Tensor, student: Tensor, *, temperature: float) -> Tensor:
    """Return the mean over rows of the cross-entropy of the student's distribution under the teacher's.

    teacher, student: scores (B, C) of the same queries and passages, each over its model's own temperature.
    temperature: of both distributions, tau_KD.
    """
    target = (teacher.detach().float() / temperature).softmax(dim=1)
    return F.cross_entropy(student.float() / temperature, target)


def relation_distillation(
    teacher: Sequence[Tensor], student: Sequence[Tensor], bounds: Sequence[int], *, heads: int
) -> Tensor:
    """Return the mean over texts of the divergence of the student's relations from the teacher's.

    teacher, student: the same kinds of states of a layer (queries, keys, values), each (T, width); the widths
    of the two may differ. bounds: (B + 1,), where each text's tokens begin and end. heads: relation heads,
    into which each width is divided. The relations of a text are the softmax of A A^T over the root of the
    head's width, per head and kind, a row for each token. The Kullback-Leibler divergence is averaged over
    heads and tokens and summed over kinds, in float32: products of 16 bits would hide small differences.
    """
    with torch.autocast(student[0].device.type, enabled=False):
        totals = [
            sum(_divergence(t[start:end], s[start:end], heads) for t, s in zip(teacher, student, strict=True))
            for start, end in pairwise(bounds)
        ]
        return torch.stack([torch.as_tensor(total) for total in totals]).mean()


def _divergence(teacher: Tensor, student: Tensor, heads: int) -> Tensor:
    with torch.no_grad():
        of_teacher = _relations(teacher, heads)
    of_student = _relations(student, heads)
    return F.kl_div(of_student, of_teacher, reduction="sum", log_target=True) / (heads * len(teacher))


def _relations(states: Tensor, heads: int) -> Tensor:
    """Return the log-probabilities of each token's relations, (heads, n, n)."""
    count, width = states.shape
    if width % heads:
        raise ValueError(f"{width} states cannot be divided among {heads} relation heads")
    parts = states.float().view(count, heads, width // heads).transpose(0, 1)
    return F.log_softmax(parts @ parts.mT / (width // heads) ** 0.5, dim=-1)

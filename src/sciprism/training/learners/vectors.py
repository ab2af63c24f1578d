"""A teacher's vector of every text, for students of the same width, which keep the teacher's space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from sciprism.errors import InputError
from sciprism.objectives.vectors import vector_distillation
from sciprism.training.batch import Batch
from sciprism.training.learners.distillation import DistillationLearner, DistillationSettings
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.learners.registry import learners


class VectorSettings(DistillationSettings):
    """Settings of the distillation of vectors, those of hard negatives included."""

    name: Literal["vectors"]


@learners.register("vectors")
class VectorLearner(DistillationLearner):
    """1 - cosine to the teacher's vector, over queries, a positive of each, hard negatives."""

    settings = VectorSettings

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        if context.encoder.dim != self.teacher_dim:
            raise InputError(
                f"{objective.teacher} has vectors of {self.teacher_dim} numbers, the student of "
                f"{context.encoder.dim}; the objective similarity needs no equal widths"
            )

    def count(self, batch: Batch) -> int:
        """Return the number of texts."""
        return sum(len(items) for items, _ in self.select_texts(batch))

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean over all texts. vectors: of queries (B, D), positives (B, D), negatives."""
        return vector_distillation(torch.cat(self.teacher_vectors(batch)), torch.cat(list(vectors)))

"""A teacher's similarities of queries to passages, for students of any width and vocabulary (INDUS, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from sciprism.objectives.similarity import similarity_distillation
from sciprism.training.batch import Batch
from sciprism.training.learners.distillation import DistillationLearner, DistillationSettings
from sciprism.training.learners.registry import learners


class SimilaritySettings(DistillationSettings):
    """Settings of the distillation of similarities."""

    name: Literal["similarity"]
    temperature: float = Field(0.02, gt=0, description="Divides the student's similarities.")
    teacher_temperature: float = Field(0.02, gt=0, description="Divides the teacher's similarities.")
    distillation_temperature: float = Field(
        4.0, gt=0, description="Divides the similarities of both once more, the paper's tau_KD."
    )
    similarity: Literal["dot", "cosine"] = Field("cosine", description="Of two vectors.")
    symmetric: bool = Field(False, description="Passages over queries too; `hard_negatives` is 0 then.")

    @model_validator(mode="after")
    def _check_square(self) -> SimilaritySettings:
        if self.symmetric and self.hard_negatives:
            raise ValueError("symmetric needs hard_negatives = 0: hard negatives have no query of their own")
        return self


@learners.register("similarity")
class SimilarityLearner(DistillationLearner):
    """Each query's distribution over all passages of the batch."""

    settings = SimilaritySettings
    gathers = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        settings = self.objective
        student = self._scores(vectors) / settings.temperature
        with torch.no_grad():
            teacher = self._scores(self.teacher_vectors(batch)) / settings.teacher_temperature
        return similarity_distillation(
            teacher, student, temperature=settings.distillation_temperature, symmetric=settings.symmetric
        )

    def _scores(self, vectors: Sequence[Tensor]) -> Tensor:
        queries, positives, negatives = self.gather(vectors)
        return queries @ torch.cat([positives, negatives]).T

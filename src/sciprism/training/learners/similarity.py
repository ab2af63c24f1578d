"""Which passages are near a query, from a teacher to a student with other words and widths (INDUS, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from sciprism.objectives.similarity import similarity_distillation
from sciprism.training.batch import Batch
from sciprism.training.learners.pairs import shared
from sciprism.training.learners.registry import learners
from sciprism.training.learners.taught import Taught, TaughtSettings


class SimilaritySettings(TaughtSettings):
    """What is handed on.

    temperature, teacher_temperature: of each one's cosines (or products). softness: a second temperature, of
    both distributions (tau_KD). both_ways: passages over queries too, without hard negatives.
    """

    name: Literal["similarity"]
    temperature: float = Field(0.02, gt=0)
    teacher_temperature: float = Field(0.02, gt=0)
    softness: float = Field(4.0, gt=0)
    similarity: Literal["dot", "cosine"] = "cosine"
    both_ways: bool = False

    @model_validator(mode="after")
    def _square(self) -> SimilaritySettings:
        if self.both_ways and self.hard_negatives:
            raise ValueError("both_ways wants no hard negatives: they have no query of their own")
        return self


@learners.register("similarity")
class Similarity(Taught):
    """Each query's distribution over all passages of the batch."""

    settings = SimilaritySettings
    whole = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        settings = self.objective
        own = self._scores(vectors) / settings.temperature
        with torch.no_grad():
            given = self._scores(self.taught(batch)) / settings.teacher_temperature
        return similarity_distillation(
            given, own, temperature=settings.softness, both_ways=settings.both_ways
        )

    def _scores(self, vectors: Sequence[Tensor]) -> Tensor:
        queries, positives, negatives = shared(vectors, self.objective.similarity, self.tools.processes)
        return queries @ torch.cat([positives, negatives]).T

"""Which passages are near a query, from a teacher to a student with other words and widths (INDUS, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from sciprism.encoders.cached import CachedEncoder
from sciprism.encoders.checkpoints.weights import cache_folder
from sciprism.objectives.similarity import similarity_distillation
from sciprism.training.learners import Asked, Batch, Learner, Tools, learners
from sciprism.training.learners.pairs import asked, shared
from sciprism.training.tables import Table


class SimilaritySettings(Table):
    """What is handed on.

    teacher: an earlier stage, a folder, or a name. teacher_length: tokens of a text that it reads, None for
    as many as it can. temperature, teacher_temperature: of each one's cosines (or products). softness: a
    second temperature, of both distributions (tau_KD). both_ways: passages over queries too, without hard
    negatives.
    """

    name: Literal["similarity"]
    teacher: str
    teacher_length: int | None = Field(None, ge=3)
    temperature: float = Field(0.02, gt=0)
    teacher_temperature: float = Field(0.02, gt=0)
    softness: float = Field(4.0, gt=0)
    similarity: Literal["dot", "cosine"] = "cosine"
    hard_negatives: int = Field(0, ge=0)
    both_ways: bool = False

    @model_validator(mode="after")
    def _square(self) -> SimilaritySettings:
        if self.both_ways and self.hard_negatives:
            raise ValueError("both_ways wants no hard negatives: they have no query of their own")
        return self


@learners.register("similarity")
class Similarity(Learner):
    """Each query's distribution over all passages of the batch; the teacher's vectors are kept on disk."""

    settings = SimilaritySettings
    whole = True

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.teacher = CachedEncoder(
            tools.open(objective.teacher, objective.teacher_length), cache_folder() / "vectors"
        )

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        settings = self.objective
        own = self._scores(vectors) / settings.temperature
        with torch.no_grad():
            given = self._scores(self._taught(batch)) / settings.teacher_temperature
        return similarity_distillation(
            given, own, temperature=settings.softness, both_ways=settings.both_ways
        )

    def _taught(self, batch: Batch) -> list[Tensor]:
        device = self.tools.encoder.device
        found = [
            self.teacher.encode(items, format=batch.format, role=role) for items, role in self.asks(batch)
        ]
        return [torch.from_numpy(each.copy()).to(device) for each in found]

    def _scores(self, vectors: Sequence[Tensor]) -> Tensor:
        queries, positives, negatives = shared(vectors, self.objective.similarity, self.tools.processes)
        return queries @ torch.cat([positives, negatives]).T

"""Every text's vector, from a teacher to a student of the same width: the teacher's space is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from sciprism.errors import InputError
from sciprism.objectives.vectors import vector_distillation
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Tools
from sciprism.training.learners.registry import learners
from sciprism.training.learners.taught import Taught, TaughtSettings


class VectorsSettings(TaughtSettings):
    """Nothing besides; the vectors of hard negatives are handed on too."""

    name: Literal["vectors"]


@learners.register("vectors")
class Vectors(Taught):
    """One less the cosine to the teacher's vector, over queries, a positive of each, hard negatives."""

    settings = VectorsSettings

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        own, other = tools.encoder.dim, self.dim
        if own != other:
            raise InputError(
                f"{objective.teacher} has vectors of {other} numbers, the student of {own}; the objective "
                "similarity needs no equal widths"
            )

    def count(self, batch: Batch) -> int:
        """Return how many texts there are."""
        return sum(len(items) for items, _ in self.asks(batch))

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean over all texts. vectors: of queries (B, D), positives (B, D), negatives."""
        return vector_distillation(torch.cat(self.taught(batch)), torch.cat(list(vectors)))

"""Queries and passages each against all of both (INDUS, section 3.3; GTE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.four_sum import four_sum_contrastive
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Asked, Learner
from sciprism.training.learners.pairs import asked, shared
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table


class FourSumSettings(Table):
    """What a recipe may say of it.

    similarity: cosine (INDUS) or dot. hard_negatives: of each query, at most. twice: the pair itself stands
    in two of the sums, as published.
    """

    name: Literal["four-sum"]
    temperature: float = Field(0.02, gt=0)
    similarity: Literal["dot", "cosine"] = "cosine"
    hard_negatives: int = Field(0, ge=0)
    twice: bool = True


@learners.register("four-sum")
class FourSum(Learner):
    """Every pair of all processes' batches."""

    settings = FourSumSettings
    whole = True

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        settings = self.objective
        parts = shared(vectors, settings.similarity, self.tools.processes)
        return four_sum_contrastive(*parts, temperature=settings.temperature, twice=settings.twice)

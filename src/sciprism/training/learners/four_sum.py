"""Queries and passages, each against all queries and passages of the batch (INDUS, section 3.3; GTE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.four_sum import four_sum_contrastive
from sciprism.training.batch import Batch
from sciprism.training.learners.pairs import PairLearner
from sciprism.training.learners.registry import learners
from sciprism.training.recipe_tables import NamedTable


class FourSumSettings(NamedTable):
    """Settings of the four-sum contrast."""

    name: Literal["four-sum"]
    temperature: float = Field(0.02, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("cosine", description="Of two vectors; `cosine` as published.")
    hard_negatives: int = Field(0, ge=0, description="Of each example, at most.")
    count_pair_twice: bool = Field(True, description="The positive pair is in two of the sums, as published.")


@learners.register("four-sum")
class FourSumLearner(PairLearner):
    """Every pair of the batch, over all processes."""

    settings = FourSumSettings
    gathers = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        settings = self.objective
        parts = self.gather(vectors)
        return four_sum_contrastive(
            *parts, temperature=settings.temperature, count_pair_twice=settings.count_pair_twice
        )

"""Triplets: each query closer to its positive than to its hard negatives (SPECTER, SciRepEval)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.triplet import triplet_margin
from sciprism.training.batch import Batch
from sciprism.training.learners.pairs import NegativePairLearner
from sciprism.training.learners.registry import learners
from sciprism.training.recipe_tables import NamedTable


class TripletSettings(NamedTable):
    """Settings of the triplet margin loss."""

    name: Literal["triplet"]
    margin: float = Field(1.0, gt=0, description="By how much the positive should be nearer.")
    distance: Literal["euclidean", "cosine", "dot"] = Field("euclidean", description="Between two vectors.")
    hard_negatives: int = Field(1, ge=1, description="Of each example, at most.")


@learners.register("triplet")
class TripletLearner(NegativePairLearner):
    """The mean over the triplets of a batch."""

    settings = TripletSettings

    def count(self, batch: Batch) -> int:
        """Return the number of triplets."""
        return len(self.hard_negatives(batch))

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        queries, positives, negatives = vectors
        owners = [row for row, e in enumerate(batch.examples) for _ in e.negatives[: self.max_negatives]]
        margin, distance = self.objective.margin, self.objective.distance
        return triplet_margin(queries[owners], positives[owners], negatives, margin=margin, distance=distance)

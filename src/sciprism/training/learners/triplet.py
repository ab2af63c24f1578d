"""Triplets: each query nearer to its positive than to its own hard negatives (SPECTER, SciRepEval)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.triplet import triplet_margin
from sciprism.training.batch import Batch
from sciprism.training.examples import Example
from sciprism.training.learners.learner import Asked, Learner
from sciprism.training.learners.pairs import asked, hard_negatives
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table


class TripletSettings(Table):
    """margin: how much nearer. hard_negatives: of each query, at most."""

    name: Literal["triplet"]
    margin: float = Field(1.0, gt=0)
    distance: Literal["euclidean", "cosine", "dot"] = "euclidean"
    hard_negatives: int = Field(1, ge=1)


@learners.register("triplet")
class Triplet(Learner):
    """The mean over the triplets of a batch."""

    settings = TripletSettings
    wants: ClassVar[str] = "a positive and a hard negative"

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether an example has both sides of a triplet."""
        return bool(example.positives and example.negatives)

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def count(self, batch: Batch) -> int:
        """Return how many triplets there are."""
        return len(hard_negatives(batch, self.objective.hard_negatives))

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        queries, positives, negatives = vectors
        settings = self.objective
        counts = [len(e.negatives[: settings.hard_negatives]) for e in batch.examples]
        owners = [owner for owner, count in enumerate(counts) for _ in range(count)]
        return triplet_margin(
            queries[owners], positives[owners], negatives, margin=settings.margin, distance=settings.distance
        )

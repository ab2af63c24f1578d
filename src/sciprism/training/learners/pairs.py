"""Objectives of queries with a positive and hard negatives each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.examples import Example
from sciprism.training.learners.learner import Learner, TextGroup


class PairLearner(Learner):
    """A loss of the vectors of queries, of the first positive of each, and of hard negatives."""

    @property
    def max_negatives(self) -> int:
        """Return the number of hard negatives of a query, at most."""
        return int(self.objective.hard_negatives)

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return queries, the first positive of each, and hard negatives."""
        return [
            ([example.query for example in batch.examples], batch.query),
            ([example.positives[0] for example in batch.examples], batch.candidate),
            (self.hard_negatives(batch), batch.candidate),
        ]

    def hard_negatives(self, batch: Batch) -> list[Item]:
        """Return the first hard negatives of each example, example by example."""
        return [item for example in batch.examples for item in example.negatives[: self.max_negatives]]

    def gather(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """Return the vectors of all processes, scaled to length 1 where the similarity is the cosine."""
        cosine = self.objective.similarity == "cosine"
        return [self.context.processes.gather(F.normalize(each, dim=-1) if cosine else each) for each in vectors]


class NegativePairLearner(PairLearner):
    """A `PairLearner` of examples that have a hard negative."""

    requires: ClassVar[str] = "a positive and a hard negative"

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether an example has a positive and a hard negative."""
        return bool(example.positives and example.negatives)

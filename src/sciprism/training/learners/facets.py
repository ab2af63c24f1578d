"""Sums of facets and the best pair of facets, against hard negatives (Multi2SPE, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.facets import facet_contrast
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import LearnerContext, learners
from sciprism.training.learners.pairs import NegativePairLearner
from sciprism.training.recipe_tables import NamedTable


class FacetsSettings(NamedTable):
    """Settings of the contrast of facets."""

    best_pair_weight: float = Field(
        0.1, ge=0, le=1, description="Weight of the best pair of facets, the paper's lambda; the sums have the rest."
    )
    mix: Literal["losses", "logits"] = Field(
        "losses", description="What is weighted: two cross-entropies (as in the code), or scores (as in the paper)."
    )
    in_batch_negatives: bool = Field(False, description="The other examples' papers are negatives too.")


@learners.register("facets")
class FacetsLearner(NegativePairLearner):
    """The mean over queries of the contrast of the first positive with the first hard negative."""

    settings = FacetsSettings
    by_facet: ClassVar[bool] = True

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.gathers = objective.in_batch_negatives

    @property
    def max_negatives(self) -> int:
        """Return one."""
        return 1

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries, positives, negatives, each (B, K, D)."""
        settings = self.objective
        parts = [self.context.processes.gather(group) for group in vectors] if self.gathers else vectors
        return facet_contrast(
            *parts,
            best_pair_weight=settings.best_pair_weight,
            mix=settings.mix,
            in_batch_negatives=settings.in_batch_negatives,
        )

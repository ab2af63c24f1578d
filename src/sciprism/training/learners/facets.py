"""Papers as wholes and by their best pair of facets, against hard negatives (Multi2SPE, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor

from sciprism.objectives.facets import facet_contrast
from sciprism.training.batch import Batch
from sciprism.training.examples import Example
from sciprism.training.learners.learner import Asked, Learner, Tools
from sciprism.training.learners.pairs import asked
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table


class FacetsSettings(Table):
    """What a recipe may say of it.

    best: the weight of the best pair of facets, lambda. mix: "losses", as the code has it, weighs two
    cross-entropies; "logits", as the paper, the scores. in_batch: the other triplets' papers are negatives.
    """

    name: Literal["facets"]
    best: float = Field(0.1, ge=0, le=1)
    mix: Literal["losses", "logits"] = "losses"
    in_batch: bool = False


@learners.register("facets")
class Facets(Learner):
    """The mean over queries of a contrast of each one's first positive and first hard negative."""

    settings = FacetsSettings
    wants: ClassVar[str] = "a positive and a hard negative"
    by_facet: ClassVar[bool] = True

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.whole = objective.in_batch

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether an example has both."""
        return bool(example.positives and example.negatives)

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive and the first hard negative of each."""
        return asked(batch, 1)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries, positives, negatives, each (B, K, D)."""
        settings = self.objective
        parts = [self.tools.processes.gather(each) for each in vectors] if self.whole else vectors
        return facet_contrast(*parts, best=settings.best, mix=settings.mix, in_batch=settings.in_batch)

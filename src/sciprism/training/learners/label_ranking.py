"""Papers against all labels of their source, as a benchmark ranks them: extreme classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from sciprism.errors import InputError
from sciprism.objectives.label_ranking import label_ranking
from sciprism.seeding import sample
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.dev import reciprocal_rank
from sciprism.training.examples import key_of
from sciprism.training.learners.learner import Asked, Learner, Tools
from sciprism.training.learners.pairs import compared
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table


class LabelRankingSettings(Table):
    """What the loss compares.

    most: labels of a step, 0 for all of the source; those of the batch's papers are among them, the others
    are drawn, and count for those that were not.
    """

    name: Literal["label-ranking"]
    temperature: float = Field(1.0, gt=0)
    similarity: Literal["dot", "cosine"] = "dot"
    most: int = Field(0, ge=0)


@learners.register("label-ranking")
class LabelRanking(Learner):
    """Every label of a paper against all labels that it does not carry."""

    settings = LabelRankingSettings
    wants: ClassVar[str] = "a label as its positive"

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.labels = tools.candidates
        if not self.labels:
            raise InputError('label-ranking: the source has no labels; say candidate = "label"')

    def asks(self, batch: Batch) -> list[Asked]:
        """Return the papers, and the labels of this step."""
        return [
            ([example.query for example in batch.examples], batch.query),
            (list(self._step(batch).values()), batch.candidate),
        ]

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean over the papers. vectors: of papers (B, D), and of the step's labels (L, D)."""
        papers, labels = compared(vectors, self.objective.similarity)
        places = {key: place for place, key in enumerate(self._step(batch))}
        carried = torch.zeros(len(batch), len(places), dtype=torch.bool)
        for row, example in zip(carried, batch.examples, strict=True):
            row[[places[key_of(item)] for item in example.positives]] = True
        carried = carried.to(papers.device)
        own = carried.any(dim=0)
        counts = torch.where(own, 1.0, (len(self.labels) - own.sum()) / (~own).sum())
        return label_ranking(papers, labels, carried, temperature=self.objective.temperature, counts=counts)

    def score(self, batch: Batch) -> float:
        """Return the mean of 1 / rank of a held-out paper's best label among all of the source."""
        return reciprocal_rank(self.tools.encoder, batch, beside=self.labels.values())

    def _step(self, batch: Batch) -> Mapping[str, Item]:
        """Return the labels that a batch is ranked among: all, or its own and others drawn by its seed."""
        most = self.objective.most
        if not 0 < most < len(self.labels):
            return self.labels
        own = {key_of(item): item for example in batch.examples for item in example.positives}
        others = sample([key for key in self.labels if key not in own], max(0, most - len(own)), batch.seed)
        return own | {key: self.labels[key] for key in others}

"""Papers against all labels of their source: extreme classification by ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.tables import NamedTable
from sciprism.errors import InputError
from sciprism.objectives.contrastive import label_ranking
from sciprism.seeding import sample
from sciprism.text.template import Item
from sciprism.training.batches import Batch
from sciprism.training.examples import item_key
from sciprism.training.learners.learner import Learner, LearnerContext, TextGroup, learners, reciprocal_rank


class LabelRankingSettings(NamedTable):
    """Settings of label ranking."""

    temperature: float = Field(1.0, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("dot", description="Similarity of two vectors.")
    max_labels: int = Field(
        0, ge=0, description="Labels of a step: the batch's own and a weighted sample of the rest. 0: all."
    )


@learners.register("label-ranking")
class LabelRankingLearner(Learner):
    """Every label of a paper against all labels that the paper lacks."""

    settings = LabelRankingSettings
    requires: ClassVar[str] = "a label as its positive"

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.labels = context.candidates
        if not self.labels:
            raise InputError('label-ranking: the source has no labels; set candidate = "label"')

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return the papers, and the labels of this step."""
        return [
            ([example.query for example in batch.examples], batch.query),
            (list(self._sample_labels(batch).values()), batch.candidate),
        ]

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean over the papers. vectors: of papers (B, D), and of the step's labels (L, D)."""
        cosine = self.objective.similarity == "cosine"
        papers, labels = (F.normalize(rows, dim=-1) if cosine else rows for rows in vectors)
        columns = {key: column for column, key in enumerate(self._sample_labels(batch))}
        positives = torch.zeros(len(batch), len(columns), dtype=torch.bool)
        for row, example in zip(positives, batch.examples, strict=True):
            row[[columns[item_key(item)] for item in example.positives]] = True
        positives = positives.to(papers.device)
        used = positives.any(dim=0)
        counts = torch.where(used, 1.0, (len(self.labels) - used.sum()) / (~used).sum())
        return label_ranking(papers, labels, positives, temperature=self.objective.temperature, counts=counts)

    def score_encoder(self, encoder: Encoder, batch: Batch) -> float:
        """Return the mean of 1 / rank of a held-out paper's best label among all of the source."""
        return reciprocal_rank(encoder, batch, more_candidates=self.labels.values())

    def _sample_labels(self, batch: Batch) -> Mapping[str, Item]:
        """Return the labels of a step by key: all, or the batch's own and others sampled by its seed."""
        limit = self.objective.max_labels
        if not 0 < limit < len(self.labels):
            return self.labels
        of_batch = {item_key(item): item for example in batch.examples for item in example.positives}
        others = sample([key for key in self.labels if key not in of_batch], max(0, limit - len(of_batch)), batch.seed)
        return of_batch | {key: self.labels[key] for key in others}

"""Objectives of queries with candidates: contrast, four sums, triplets, facets, and the ranking of all labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import copy_integers, copy_tensor
from sciprism.encoders.methods.registry import NamedTable
from sciprism.errors import InputError
from sciprism.objectives.contrastive import (
    facet_contrast,
    four_sum_contrastive,
    in_batch_contrastive,
    label_ranking,
    triplet_margin,
)
from sciprism.seeding import random_bits, sample
from sciprism.text.template import Item
from sciprism.training.batches import Batch
from sciprism.training.examples import Example, item_key
from sciprism.training.learners.learner import Learner, LearnerContext, TextGroup, learners, reciprocal_rank


class NestedSettings(NamedTable):
    """Settings of a loss of nested dimensions (Kusupati et al. 2022)."""

    dimensions: tuple[PositiveInt, ...] = Field(
        (),
        description="Nested widths that the loss reads, such as [384, 128].",
    )
    dimension_weights: tuple[PositiveFloat, ...] = Field((), description="Weights of these losses; 1 each by default.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.dimension_weights and len(self.dimension_weights) != len(self.dimensions):
            raise ValueError(f"{len(self.dimension_weights)} dimension_weights for {len(self.dimensions)} dimensions")
        return self


class PairLearner(Learner):
    """A loss of the vectors of queries, of the first positive of each, and of hard negatives."""

    @property
    def max_negatives(self) -> int:
        """Return the number of hard negatives of a query, at most; one where the objective does not state it."""
        return int(getattr(self.objective, "hard_negatives", 1))

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return queries, the first positive of each, and hard negatives."""
        return [
            ([example.query for example in batch.examples], batch.query),
            ([example.positives[0] for example in batch.examples], batch.candidate),
            (self.hard_negatives(batch), batch.candidate),
        ]

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss, or its weighted sum over the nested dimensions.

        vectors: of queries (B, D), positives (B, D), negatives (N, D). InputError where a vector has fewer numbers.
        """
        settings = self.objective
        if not settings.dimensions:
            return self.pair_loss(batch, vectors)
        if (width := vectors[0].shape[-1]) < max(settings.dimensions):
            raise InputError(f"dimensions has {max(settings.dimensions)}; a vector of this model has {width} numbers")
        weights = settings.dimension_weights or (1.0,) * len(settings.dimensions)
        losses = [self.pair_loss(batch, [group[:, :size] for group in vectors]) for size in settings.dimensions]
        return torch.stack([weight * loss for weight, loss in zip(weights, losses, strict=True)]).sum()

    def pair_loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss of vectors of one width."""
        raise NotImplementedError

    def hard_negatives(self, batch: Batch) -> list[Item]:
        """Return the first hard negatives of each example, example by example."""
        return [item for example in batch.examples for item in example.negatives[: self.max_negatives]]

    def gather(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """Return the vectors of all processes, scaled to length 1 where the similarity is the cosine."""
        cosine = self.objective.similarity == "cosine"
        return [self.context.processes.gather(F.normalize(group, dim=-1) if cosine else group) for group in vectors]


class NegativePairLearner(PairLearner):
    """A `PairLearner` of examples that have a hard negative."""

    requires: ClassVar[str] = "a positive and a hard negative"

    @staticmethod
    def fits(example: Example) -> bool:
        """Return whether an example has a positive and a hard negative."""
        return bool(example.positives and example.negatives)


class ContrastSettings(NestedSettings):
    """Settings of in-batch contrast (SciMult)."""

    temperature: float = Field(1.0, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("dot", description="Similarity of two vectors.")
    hard_negatives: int = Field(1, ge=0, description="Hard negatives of an example, at most.")
    mask_known: bool = Field(False, description="Drop candidates that are known positives of the query.")


@learners.register("contrast")
class ContrastLearner(PairLearner):
    """Every query against all candidates of the batch, over all processes."""

    settings = ContrastSettings
    gathers = True

    def pair_loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        parts = self.gather(vectors)
        known_positives = self._known_positives(batch) if self.objective.mask_known else None
        return in_batch_contrastive(*parts, temperature=self.objective.temperature, known_positives=known_positives)

    def _known_positives(self, batch: Batch) -> Tensor:
        """Return which candidates of all processes are positives of which queries, or the query itself."""
        gather, device, count = self.context.processes.gather, self.context.encoder.device, self.context.processes.count
        answers = [[_item_id(item) for item in (e.query, *e.positives)] for e in batch.examples]
        width = max(map(len, answers))
        if count > 1:
            width = int(gather(torch.tensor([width], device=device)).max())
        padded = copy_tensor(torch.tensor([ids + [0] * (width - len(ids)) for ids in answers]), device)
        first = copy_integers([_item_id(e.positives[0]) for e in batch.examples], device)
        hard = [_item_id(item) for item in self.hard_negatives(batch)]
        candidates = torch.cat([gather(first), gather(copy_integers(hard, device))])
        return (gather(padded)[:, :, None] == candidates).any(dim=1)


def _item_id(item: Item) -> int:
    """Return a number above 0 that identifies an item."""
    return 1 + (random_bits(item_key(item)) >> 2)


class FourSumSettings(NestedSettings):
    """Settings of the four-sum contrast (INDUS)."""

    temperature: float = Field(0.02, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("cosine", description="Similarity of two vectors.")
    hard_negatives: int = Field(0, ge=0, description="Hard negatives of an example, at most.")
    count_pair_twice: bool = Field(True, description="The positive pair is in two sums, as published.")


@learners.register("four-sum")
class FourSumLearner(PairLearner):
    """Every pair of the batch, over all processes."""

    settings = FourSumSettings
    gathers = True

    def pair_loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        settings = self.objective
        parts = self.gather(vectors)
        return four_sum_contrastive(
            *parts, temperature=settings.temperature, count_pair_twice=settings.count_pair_twice
        )


class TripletSettings(NestedSettings):
    """Settings of the triplet margin loss."""

    margin: float = Field(1.0, gt=0, description="By how much the positive should be nearer.")
    distance: Literal["euclidean", "cosine", "dot"] = Field("euclidean", description="Between two vectors.")
    hard_negatives: int = Field(1, ge=1, description="Hard negatives of an example, at most.")


@learners.register("triplet")
class TripletLearner(NegativePairLearner):
    """The mean over the triplets of a batch."""

    settings = TripletSettings

    def count(self, batch: Batch) -> int:
        """Return the number of triplets."""
        return len(self.hard_negatives(batch))

    def pair_loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of queries (B, D), positives (B, D), negatives (N, D)."""
        queries, positives, negatives = vectors
        owners = [row for row, e in enumerate(batch.examples) for _ in e.negatives[: self.max_negatives]]
        margin, distance = self.objective.margin, self.objective.distance
        return triplet_margin(queries[owners], positives[owners], negatives, margin=margin, distance=distance)


# ---- facets (Multi2SPE, section 3) ----


class FacetsSettings(NamedTable):
    """Settings of the contrast of facets."""

    best_pair_weight: float = Field(
        0.1, ge=0, le=1, description="Weight of the best pair of facets, the paper's lambda."
    )
    mix: Literal["losses", "logits"] = Field(
        "losses", description="What is weighted: losses, as in the code, or scores, as in the paper."
    )


@learners.register("facets")
class FacetsLearner(NegativePairLearner):
    """The mean over queries of the contrast of the first positive with the first hard negative."""

    settings = FacetsSettings
    by_facet: ClassVar[bool] = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: of queries, positives, negatives, each (B, K, D)."""
        settings = self.objective
        return facet_contrast(*vectors, best_pair_weight=settings.best_pair_weight, mix=settings.mix)


class LabelRankingSettings(NamedTable):
    """Settings of label ranking."""

    temperature: float = Field(1.0, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("dot", description="Similarity of two vectors.")
    max_labels: int = Field(0, ge=0, description="Labels of a step: the batch's own and sampled ones; 0: all.")


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

"""Objectives with a teacher: its vectors, its similarities of queries to passages, or its relations of tokens.

INDUS, 3.4 and 3.2; the relations are MiniLMv2's, for students of any width.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import copy_tensor
from sciprism.encoders.methods.registry import NamedTable, Precision
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.objectives.distillation import relation_distillation, similarity_distillation, vector_distillation
from sciprism.parallel import Progress
from sciprism.text.template import FIELDS, Item
from sciprism.training.batches import Batch, Ids
from sciprism.training.learners.learner import BlockLearner, LearnerContext, TokenBlock, learners
from sciprism.training.learners.pairs import PairLearner


class DistillationSettings(NamedTable):
    """Settings of all objectives with a teacher's vectors."""

    teacher: str = Field(description="An earlier stage, a folder, or any model that `evaluate` loads.")
    teacher_max_length: int | None = Field(None, ge=3, description="Tokens the teacher reads of a text. Default: all.")
    teacher_precision: Precision = Field("float32", description="Precision in which the teacher computes.")
    cache_teacher: bool = Field(True, description="Store the teacher's vectors on disk.")
    cache_precision: Literal["float32", "float16"] = Field("float32", description="Of the vectors on disk.")
    hard_negatives: int = Field(0, ge=0, description="Hard negatives of an example, at most.")


class DistillationLearner(PairLearner):
    """Queries, positives and hard negatives with a teacher's vectors."""

    settings: ClassVar[type[NamedTable]] = DistillationSettings

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        teacher = context.load_model(objective.teacher, objective.teacher_max_length, objective.teacher_precision)
        self.teacher_dim = teacher.dim
        self.prefetches = objective.cache_teacher
        self.teacher = CachedEncoder(teacher, precision=objective.cache_precision) if self.prefetches else teacher

    def prefetch(self, batches: Sequence[Batch], progress: Progress) -> None:
        """Encode the texts of coming batches with the teacher, which caches the vectors."""
        items: dict[tuple[Format, Role], list[Item]] = defaultdict(list)
        for batch in batches:
            for group, role in self.select_texts(batch):
                items[batch.format, role] += group
        if isinstance(self.teacher, CachedEncoder):
            self.teacher.watch(progress, "the teacher, encoding")
        for (format, role), group in items.items():
            self.teacher.encode(group, format=format, role=role, fields=FIELDS)

    def teacher_vectors(self, batch: Batch) -> list[Tensor]:
        """Return the teacher's vectors of each group of texts."""
        device = self.context.encoder.device
        groups = [
            self.teacher.encode(items, format=batch.format, role=role, fields=FIELDS)
            for items, role in self.select_texts(batch)
        ]
        return [copy_tensor(torch.from_numpy(vectors.copy()), device) for vectors in groups]


class Widening(nn.Module):
    """A trained map into a wider space, whose columns are orthonormal: all lengths and angles stay.

    So the student's vectors are compared by the cosines that the map was trained with, without the map.
    """

    def __init__(self, width: int, wider: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(wider, width) / wider**0.5)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map (B, width) to (B, wider)."""
        columns, _ = torch.linalg.qr(self.weight.float())
        wider: Tensor = vectors.float() @ columns.T
        return wider


@learners.register("vectors")
class VectorLearner(DistillationLearner):
    """1 - cosine to the teacher's vector, over queries, a positive of each, hard negatives.

    The vectors of a narrower student are compared after a trained `Widening`, which is dropped after training.
    """

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        width = context.encoder.dim
        if width > self.teacher_dim:
            raise InputError(
                f"{objective.teacher} has vectors of {self.teacher_dim} numbers, fewer than the student's "
                f"{width}; the objective similarity compares any widths"
            )
        if width < self.teacher_dim:
            self.modules = Widening(width, self.teacher_dim).to(context.encoder.device)

    def count(self, batch: Batch) -> int:
        """Return the number of texts in a batch: the weight of its loss."""
        return sum(len(items) for items, _ in self.select_texts(batch))

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean over all texts. vectors: of queries (B, D), positives (B, D), negatives."""
        student = torch.cat(list(vectors))
        if isinstance(self.modules, Widening):
            student = self.modules(student)
        return vector_distillation(torch.cat(self.teacher_vectors(batch)), student)


class SimilaritySettings(DistillationSettings):
    """Settings of the distillation of similarities."""

    temperature: float = Field(0.02, gt=0, description="Divides the similarities.")
    teacher_temperature: float = Field(0.02, gt=0, description="Divides the teacher's similarities.")
    distillation_temperature: float = Field(4.0, gt=0, description="Divides both once more (tau_KD).")
    similarity: Literal["dot", "cosine"] = Field("cosine", description="Similarity of two vectors.")
    pairs: Literal["queries", "texts"] = Field(
        "queries", description="Each query with all passages, or each text with all others."
    )


@learners.register("similarity")
class SimilarityLearner(DistillationLearner):
    """Each query's distribution over all passages of the batch, or each text's over all other texts.

    INDUS defines pairs with j != i and sums over all j, so both readings are settings.
    """

    settings = SimilaritySettings
    gathers = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        settings = self.objective
        student = self._scores(vectors) / settings.temperature
        with torch.no_grad():
            teacher = self._scores(self.teacher_vectors(batch)) / settings.teacher_temperature
        return similarity_distillation(teacher, student, temperature=settings.distillation_temperature)

    def _scores(self, vectors: Sequence[Tensor]) -> Tensor:
        gathered = self.gather(vectors)
        if self.objective.pairs == "queries":
            return gathered[0] @ torch.cat(gathered[1:]).T
        texts = torch.cat(gathered)
        return (texts @ texts.T)[~torch.eye(len(texts), dtype=torch.bool, device=texts.device)].view(len(texts), -1)


class RelationSettings(NamedTable):
    """Settings of the distillation of relations."""

    teacher: str = Field(description="An earlier stage, a folder, or the name of a sciprism model.")
    relation_heads: int = Field(48, ge=1, description="Heads into which the widths of both models are split.")


@learners.register("relations")
class RelationLearner(BlockLearner):
    """Similarities of the states of the last layer's tokens, as in the teacher's."""

    settings = RelationSettings

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        teacher, student = context.load_model(objective.teacher), context.encoder
        if not isinstance(teacher, Encoder):
            raise InputError(f"relations: {objective.teacher} is an encoder of another library, which gives no states")
        if teacher.tokenizer.get_vocab() != student.tokenizer.get_vocab():
            raise InputError(f"relations: {objective.teacher} and its student have different vocabularies")
        self.teacher = teacher
        for encoder in (teacher, student):
            if encoder.dim % objective.relation_heads:
                raise InputError(
                    f"relations: {objective.relation_heads} relation_heads do not divide the width {encoder.dim}"
                )

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> TokenBlock:
        """Return the block unchanged; each has the weight 1."""
        return TokenBlock(ids, (1.0,))

    def loss_sums(self, blocks: Sequence[TokenBlock]) -> Tensor:
        """Return the sum over blocks of the divergence, (1,)."""
        batch = self.pack_blocks(blocks)
        model = self.teacher.model
        with torch.no_grad():
            teacher = model.projections(batch, model.config.layers)
        model = self.context.encoder.model
        student = model.projections(batch, model.config.layers)
        mean = relation_distillation(teacher, student, batch.bounds, heads=self.objective.relation_heads)
        return (mean * len(blocks)).reshape(1)

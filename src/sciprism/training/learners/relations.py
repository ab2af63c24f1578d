"""A teacher's relations between tokens, for students of any width (MiniLMv2; INDUS, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.tables import NamedTable
from sciprism.errors import InputError
from sciprism.objectives.distillation import relation_distillation
from sciprism.training.batches import Ids
from sciprism.training.learners.learner import BlockLearner, LearnerContext, TokenBlock, learners

RelationType = Literal["query", "key", "value"]


class RelationSettings(NamedTable):
    """Settings of the distillation of relations."""

    teacher: str = Field(description="An earlier stage, a folder, or the name of a sciprism model.")
    relation_heads: int = Field(48, ge=1, description="Heads into which the widths of both models are split.")
    teacher_layer: int = Field(0, ge=0, description="Layer of the teacher, from 1. 0: the last.")
    student_layer: int = Field(0, ge=0, description="Layer of the student, from 1. 0: the last.")
    relation_types: tuple[RelationType, ...] = Field(("query", "key", "value"), description="States that are compared.")


@learners.register("relations")
class RelationLearner(BlockLearner):
    """Similarities of the states of a layer's tokens, as in the teacher's layer."""

    settings = RelationSettings

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        teacher, student = context.load_model(objective.teacher), context.encoder
        if not isinstance(teacher, Encoder):
            raise InputError(f"relations: {objective.teacher} is an encoder of another library, which gives no states")
        if teacher.tokenizer.get_vocab() != student.tokenizer.get_vocab():
            raise InputError(f"relations: {objective.teacher} and its student have different vocabularies")
        self.teacher = teacher
        self.layers = _layer(teacher, objective.teacher_layer), _layer(student, objective.student_layer)
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
        teacher_layer, student_layer = self.layers
        with torch.no_grad():
            teacher = self._states(self.teacher, batch, teacher_layer)
        student = self._states(self.context.encoder, batch, student_layer)
        mean = relation_distillation(teacher, student, batch.bounds, heads=self.objective.relation_heads)
        return (mean * len(blocks)).reshape(1)

    def _states(self, encoder: Encoder, batch: PackedBatch, layer: int) -> list[Tensor]:
        states = dict(zip(("query", "key", "value"), encoder.model.projections(batch, layer), strict=True))
        return [states[kind] for kind in self.objective.relation_types]


def _layer(encoder: Encoder, number: int) -> int:
    layers = encoder.model.config.layers
    if number > layers:
        raise InputError(f"relations: layer {number} of {encoder.name}, which has {layers}")
    return number or layers

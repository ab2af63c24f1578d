"""Relations between tokens, from a teacher to a student of any width (MiniLMv2; INDUS, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import PackedBatch
from sciprism.errors import InputError
from sciprism.objectives.relations import relation_distillation
from sciprism.training.batch import Ids
from sciprism.training.learners.blocks import Block, BlockLearner
from sciprism.training.learners.learner import Tools
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table

Kind = Literal["query", "key", "value"]


class RelationSettings(Table):
    """What is handed on.

    teacher: an earlier stage, a folder, or a name. heads: relation heads, into which the widths of both are
    divided. layer, student_layer: counted from 1, 0 for the last. kinds: of the states that are compared.
    """

    name: Literal["relations"]
    teacher: str
    heads: int = Field(48, ge=1)
    layer: int = Field(0, ge=0)
    student_layer: int = Field(0, ge=0)
    kinds: tuple[Kind, ...] = ("query", "key", "value")


@learners.register("relations")
class Relations(BlockLearner):
    """How the states of a layer's tokens compare with each other, as in the teacher's layer."""

    settings = RelationSettings

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        teacher, student = tools.open(objective.teacher), tools.encoder
        if not isinstance(teacher, Encoder):
            raise InputError(f"relations: {objective.teacher} is another library's: its states are not known")
        self.teacher = teacher
        if self.teacher.tokenizer.get_vocab() != student.tokenizer.get_vocab():
            raise InputError(
                f"relations: {objective.teacher} reads tokens of another vocabulary than its student"
            )
        self.layers = _layer(self.teacher, objective.layer), _layer(student, objective.student_layer)
        for each in (self.teacher, student):
            if each.dim % objective.heads:
                raise InputError(
                    f"relations: {objective.heads} relation heads do not divide a width of {each.dim}"
                )

    def prepared(self, ids: Ids, draw: np.random.Generator) -> Block:
        """Return the block as it is; each counts as one."""
        return Block(ids, (1.0,))

    def sums(self, blocks: Sequence[Block]) -> Tensor:
        """Return the sum over blocks of the divergence, (1,)."""
        batch = self.packed(blocks)
        there, here = self.layers
        with torch.no_grad():
            teacher = self._states(self.teacher, batch, there)
        student = self._states(self.tools.encoder, batch, here)
        mean = relation_distillation(teacher, student, batch.bounds, heads=self.objective.heads)
        return (mean * len(blocks)).reshape(1)

    def _states(self, encoder: Encoder, batch: PackedBatch, layer: int) -> list[Tensor]:
        found = dict(zip(("query", "key", "value"), encoder.model.projections(batch, layer), strict=True))
        return [found[kind] for kind in self.objective.kinds]


def _layer(encoder: Encoder, number: int) -> int:
    layers = encoder.model.config.layers
    if number > layers:
        raise InputError(f"relations: layer {number} of {encoder.name}, which has {layers}")
    return number or layers

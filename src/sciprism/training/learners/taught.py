"""What learners of a teacher's vectors have in common."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.cached import CachedEncoder
from sciprism.encoders.checkpoints.weights import cache_folder
from sciprism.training.learners import Asked, Batch, Learner, Tools
from sciprism.training.learners.pairs import asked
from sciprism.training.tables import Table


class TaughtSettings(Table):
    """What all learners of a teacher's vectors have.

    teacher: an earlier stage, a folder, or a name. teacher_length: tokens of a text that it reads, None for
    as many as it can. hard_negatives: of each example.
    """

    teacher: str
    teacher_length: int | None = Field(None, ge=3)
    hard_negatives: int = Field(0, ge=0)


class Taught(Learner):
    """Queries, positives and hard negatives with a teacher's vectors, which are kept on disk."""

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.teacher = CachedEncoder(
            tools.open(objective.teacher, objective.teacher_length), cache_folder() / "vectors"
        )

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def taught(self, batch: Batch) -> list[Tensor]:
        """Return the teacher's vectors of all that is asked."""
        device = self.tools.encoder.device
        found = [
            self.teacher.encode(items, format=batch.format, role=role) for items, role in self.asks(batch)
        ]
        return [torch.from_numpy(each.copy()).to(device) for each in found]

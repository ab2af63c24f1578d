"""What learners of a teacher's vectors have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.cached import CachedEncoder
from sciprism.files import cache_folder
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Asked, Learner, Tools
from sciprism.training.learners.pairs import asked
from sciprism.training.tables import Precision, Table


class TaughtSettings(Table):
    """What all learners of a teacher's vectors have.

    teacher: an earlier stage, a folder, or a name. teacher_length: tokens of a text that it reads, None for
    as many as it can. teacher_precision: that it computes in. cached: its vectors are kept on disk, for
    other epochs and runs; else computed each time. hard_negatives: of each example.
    """

    teacher: str
    teacher_length: int | None = Field(None, ge=3)
    teacher_precision: Precision = "float32"
    cached: bool = True
    hard_negatives: int = Field(0, ge=0)


class Taught(Learner):
    """Queries, positives and hard negatives with a teacher's vectors."""

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        teacher = tools.open(objective.teacher, objective.teacher_length, objective.teacher_precision)
        self.dim = teacher.dim
        self.teacher = CachedEncoder(teacher, cache_folder() / "vectors") if objective.cached else teacher
        self.looks_ahead = objective.cached

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def ahead(self, batches: Sequence[Batch]) -> None:
        """Keep the teacher's vectors of all that will be asked."""
        items: dict[tuple[Format, Role], list[Item]] = defaultdict(list)
        for batch in batches:
            for each, role in self.asks(batch):
                items[batch.format, role] += each
        for (format, role), each in items.items():
            self.teacher.encode(each, format=format, role=role, fields=FIELDS)

    def taught(self, batch: Batch) -> list[Tensor]:
        """Return the teacher's vectors of all that is asked."""
        device = self.tools.encoder.device
        found = [
            self.teacher.encode(items, format=batch.format, role=role, fields=FIELDS)
            for items, role in self.asks(batch)
        ]
        return [torch.from_numpy(each.copy()).to(device) for each in found]

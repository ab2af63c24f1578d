"""Objectives with a teacher: the vectors of another encoder for the same texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.files import cache_folder
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.learners.pairs import PairLearner
from sciprism.training.recipe_tables import NamedTable, Precision


class DistillationSettings(NamedTable):
    """Settings of all objectives with a teacher's vectors."""

    teacher: str = Field(description="An earlier stage, a folder, or any model that `evaluate` loads.")
    teacher_max_length: int | None = Field(
        None, ge=3, description="Tokens of a text that the teacher reads. Default: as many as it can."
    )
    teacher_precision: Precision = Field("float32", description="In which the teacher computes.")
    cache_teacher: bool = Field(True, description="Keep the teacher's vectors on disk, for other epochs and runs.")
    hard_negatives: int = Field(0, ge=0, description="Of each example, at most.")


class DistillationLearner(PairLearner):
    """Queries, positives and hard negatives with a teacher's vectors."""

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        teacher = context.load_model(objective.teacher, objective.teacher_max_length, objective.teacher_precision)
        self.teacher_dim = teacher.dim
        cached = objective.cache_teacher
        self.teacher = CachedEncoder(teacher, cache_folder() / "vectors") if cached else teacher
        self.prefetches = cached

    def prefetch(self, batches: Sequence[Batch]) -> None:
        """Encode the texts of coming batches with the teacher, which caches the vectors."""
        items: dict[tuple[Format, Role], list[Item]] = defaultdict(list)
        for batch in batches:
            for group, role in self.select_texts(batch):
                items[batch.format, role] += group
        for (format, role), group in items.items():
            self.teacher.encode(group, format=format, role=role, fields=FIELDS)

    def teacher_vectors(self, batch: Batch) -> list[Tensor]:
        """Return the teacher's vectors of each group of texts."""
        device = self.context.encoder.device
        found = [
            self.teacher.encode(items, format=batch.format, role=role, fields=FIELDS)
            for items, role in self.select_texts(batch)
        ]
        return [torch.from_numpy(each.copy()).to(device) for each in found]

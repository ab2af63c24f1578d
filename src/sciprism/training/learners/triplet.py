"""Triplets: each query nearer to its positive than to its own hard negatives (SPECTER, SciRepEval)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from sciprism.objectives.triplet import triplet_margin
from sciprism.training.learners import Batch, Objective, Tools, learners
from sciprism.training.learners.encoded import encoded


class TripletSettings(Objective):
    """margin: how much nearer. hard_negatives: of each query, at most; without one it adds nothing."""

    name: Literal["triplet"]
    margin: float = Field(1.0, gt=0)
    distance: Literal["euclidean", "cosine", "dot"] = "euclidean"
    hard_negatives: int = Field(1, ge=1)


@learners.register("triplet")
class Triplet:
    """The mean over the triplets of all processes."""

    settings: ClassVar[Any] = TripletSettings
    modules: nn.Module | None = None

    def __init__(self, objective: TripletSettings, tools: Tools) -> None:
        self.objective = objective
        self.tools = tools

    def __call__(self, batch: Batch, scale: float) -> float:
        """Add the gradient of the loss times `scale`; return the loss over all processes."""
        settings, processes = self.objective, self.tools.processes
        found = encoded(batch, self.tools, settings.hard_negatives)
        total = processes.sum(len(found.owners))
        if not total:
            return 0.0
        loss = 0.0
        if found.owners:
            owners = torch.tensor(found.owners, device=found.queries.device)
            pairs = (found.queries[owners], found.positives[owners], found.hard)
            mean = triplet_margin(*pairs, margin=settings.margin, distance=settings.distance)
            share = mean * len(owners) / total
            (share * scale).backward()  # type: ignore[no-untyped-call]
            found.way.backward()
            loss = float(share.detach())
        return processes.sum(loss)

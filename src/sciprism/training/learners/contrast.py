"""In-batch contrastive learning: SciMult's objective over the vectors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.text.template import Item
from sciprism.training.examples import key_of
from sciprism.training.learners import Batch, Objective, Tools, learners
from sciprism.training.learners.encoded import encoded


class ContrastSettings(Objective):
    """What the loss compares.

    hard_negatives: of each query, at most. similarity: dot (SciMult) or cosine. mask_known: leave out
    candidates that are known to answer a query as well.
    """

    name: Literal["contrast"]
    temperature: float = Field(1.0, gt=0)
    similarity: Literal["dot", "cosine"] = "dot"
    hard_negatives: int = Field(1, ge=0)
    mask_known: bool = False


@learners.register("contrast")
class Contrast:
    """Every query against all candidates of the batch, those of other processes included."""

    settings: ClassVar[Any] = ContrastSettings
    modules: nn.Module | None = None

    def __init__(self, objective: ContrastSettings, tools: Tools) -> None:
        self.objective = objective
        self.tools = tools

    def __call__(self, batch: Batch, scale: float) -> float:
        """Add the gradient of the loss times `scale`; return the loss over all processes."""
        gather = self.tools.processes.gather
        found = encoded(batch, self.tools, self.objective.hard_negatives)
        parts = [found.queries, found.positives, found.hard]
        if self.objective.similarity == "cosine":
            parts = [F.normalize(part, dim=-1) for part in parts]
        known = self._known(batch, found.negatives) if self.objective.mask_known else None
        loss = in_batch_contrastive(*map(gather, parts), temperature=self.objective.temperature, known=known)
        (loss * scale).backward()  # type: ignore[no-untyped-call]
        found.way.backward()
        return float(loss.detach())

    def _known(self, batch: Batch, negatives: Sequence[Item]) -> Tensor:
        """Return which candidates of all processes are positives of which queries, or the query itself."""
        gather, device = self.tools.processes.gather, self.tools.encoder.device
        answers = [[_name(item) for item in (e.query, *e.positives)] for e in batch.examples]
        width = int(gather(torch.tensor([max(map(len, answers))], device=device)).max())
        own = torch.tensor([names + [0] * (width - len(names)) for names in answers], device=device)
        first = torch.tensor([_name(e.positives[0]) for e in batch.examples], device=device)
        hard = torch.tensor([_name(item) for item in negatives], dtype=torch.long, device=device)
        asked = torch.cat([gather(first), gather(hard)])
        return (gather(own)[:, :, None] == asked).any(dim=1)


def _name(item: Item) -> int:
    """Return a number above 0 that stands for an item."""
    digest = blake2b(key_of(item).encode("utf-8", "replace"), digest_size=8).digest()
    return 1 + (int.from_bytes(digest) >> 2)

"""In-batch contrastive learning: SciMult's objective over the vectors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.examples import key_of
from sciprism.training.learners.learner import Asked, Learner
from sciprism.training.learners.pairs import asked, hard_negatives, shared
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table


class ContrastSettings(Table):
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
class Contrast(Learner):
    """Every query against all candidates of the batch, those of other processes included."""

    settings = ContrastSettings
    whole = True

    def asks(self, batch: Batch) -> list[Asked]:
        """Return queries, the first positive of each, and hard negatives."""
        return asked(batch, self.objective.hard_negatives)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        parts = shared(vectors, self.objective.similarity, self.tools.processes)
        known = self._known(batch) if self.objective.mask_known else None
        return in_batch_contrastive(*parts, temperature=self.objective.temperature, known=known)

    def _known(self, batch: Batch) -> Tensor:
        """Return which candidates of all processes are positives of which queries, or the query itself."""
        gather, device = self.tools.processes.gather, self.tools.encoder.device
        answers = [[_name(item) for item in (e.query, *e.positives)] for e in batch.examples]
        width = int(gather(torch.tensor([max(map(len, answers))], device=device)).max())
        own = torch.tensor([names + [0] * (width - len(names)) for names in answers], device=device)
        first = torch.tensor([_name(e.positives[0]) for e in batch.examples], device=device)
        negatives = hard_negatives(batch, self.objective.hard_negatives)
        hard = torch.tensor([_name(item) for item in negatives], dtype=torch.long, device=device)
        asked = torch.cat([gather(first), gather(hard)])
        return (gather(own)[:, :, None] == asked).any(dim=1)


def _name(item: Item) -> int:
    """Return a number above 0 that stands for an item."""
    digest = blake2b(key_of(item).encode("utf-8", "replace"), digest_size=8).digest()
    return 1 + (int.from_bytes(digest) >> 2)

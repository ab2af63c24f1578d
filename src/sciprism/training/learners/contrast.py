"""In-batch contrastive learning (SciMult, equation 2)."""

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
from sciprism.training.examples import item_key
from sciprism.training.learners.pairs import PairLearner
from sciprism.training.learners.registry import learners
from sciprism.training.recipe_tables import NamedTable


class ContrastSettings(NamedTable):
    """Settings of in-batch contrast."""

    name: Literal["contrast"]
    temperature: float = Field(1.0, gt=0, description="Divides the similarities.")
    similarity: Literal["dot", "cosine"] = Field("dot", description="Of two vectors; `dot` as published.")
    hard_negatives: int = Field(1, ge=0, description="Of each example, at most.")
    mask_known: bool = Field(False, description="Drop candidates that are known positives of the query.")


@learners.register("contrast")
class ContrastLearner(PairLearner):
    """Every query against all candidates of the batch, over all processes."""

    settings = ContrastSettings
    gathers = True

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss over all processes. vectors: of queries (B, D), positives (B, D), negatives."""
        parts = self.gather(vectors)
        known = self._known_positives(batch) if self.objective.mask_known else None
        return in_batch_contrastive(*parts, temperature=self.objective.temperature, known_positives=known)

    def _known_positives(self, batch: Batch) -> Tensor:
        """Return which candidates of all processes are positives of which queries, or the query itself."""
        gather, device = self.context.processes.gather, self.context.encoder.device
        answers = [[_item_id(item) for item in (e.query, *e.positives)] for e in batch.examples]
        width = int(gather(torch.tensor([max(map(len, answers))], device=device)).max())
        padded = torch.tensor([ids + [0] * (width - len(ids)) for ids in answers], device=device)
        first = torch.tensor([_item_id(e.positives[0]) for e in batch.examples], device=device)
        hard = [_item_id(item) for item in self.hard_negatives(batch)]
        candidates = torch.cat([gather(first), gather(torch.tensor(hard, dtype=torch.long, device=device))])
        return (gather(padded)[:, :, None] == candidates).any(dim=1)


def _item_id(item: Item) -> int:
    """Return a number above 0 that identifies an item."""
    digest = blake2b(item_key(item).encode("utf-8", "replace"), digest_size=8).digest()
    return 1 + (int.from_bytes(digest) >> 2)

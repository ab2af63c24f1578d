"""Some directions of a vector hold which words a text has, whatever their order; the others its meaning.

Ours, after hybrid search (a dense score and a lexical one, added): the vectors of most encoders vary little
in many of their directions. Without those they rank nearly the same, and in their place stand the text's
weighted words, among them the rare names that a small network forgets. The sum of both scores is then one
inner product, and the vectors are as wide as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from sciprism.encoders.packing import PackedBatch

SHARE = 0.5
"""How long the lexical part is where the other has length 1."""
LEAST = 1.0
"""How long a text's words are together, at least, to count in full: "the" and "of" alone say nothing."""


class Lexical(nn.Module):
    """What makes a text's vector of its pooled states and its words.

    weight: of each word of the vocabulary, (V,). centre: what the rows of the word table are measured from,
    (hidden,). words: to the lexical part, of `width` directions. dense: of pooled states to the others.
    share: how long the lexical part is beside the other, whose length is 1.
    """

    def __init__(self, vocabulary: int, hidden: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(vocabulary))
        self.centre = nn.Parameter(torch.zeros(hidden))
        self.words = nn.Linear(hidden, width, bias=False)
        self.dense = nn.Linear(hidden, hidden - width, bias=False)
        self.share = nn.Parameter(torch.full((1,), SHARE))
        self.rows: Tensor | None = None

    def tabulate(self, table: Tensor) -> None:
        """Keep what each word adds, (V, width), for inference; called again after the weights change."""
        with torch.no_grad():
            self.rows = self.words((table - self.centre) * self.weight[:, None])

    def train(self, mode: bool = True) -> Self:
        """Drop what was kept where training begins: the weights are about to change."""
        self.rows = None if mode else self.rows
        return super().train(mode)

    def forward(self, pooled: Tensor, table: Tensor, batch: PackedBatch) -> Tensor:
        """Map vectors of a batch's texts, (B, hidden) or several of each, (B, W, hidden), to the same shape.

        table: the embeddings of the vocabulary, (V, hidden).
        """
        said = self.share * F.normalize(self.said(table, batch).float(), dim=-1, eps=LEAST)
        meant = F.normalize(self.dense(pooled).float(), dim=-1)
        said = said.view(len(said), *(1,) * (pooled.dim() - 2), -1).expand(*pooled.shape[:-1], -1)
        return torch.cat([meant, said], dim=-1)

    def said(self, table: Tensor, batch: PackedBatch) -> Tensor:
        """Return the sum of what each text's words add, (B, width)."""
        if self.rows is not None and not torch.is_grad_enabled():
            return F.embedding_bag(batch.ids, self.rows, batch.starts, mode="sum")
        rows = (F.embedding(batch.ids, table) - self.centre) * self.weight[batch.ids, None]
        lengths = torch.tensor(batch.lengths, device=rows.device)
        bags: Tensor = self.words(torch.segment_reduce(rows, "sum", lengths=lengths, unsafe=True))
        return bags

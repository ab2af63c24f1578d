"""Lexical features: some dimensions of a vector encode a text's words, the others its meaning.

Ours, after hybrid search, which adds a dense and a lexical score. The vectors of most encoders vary little in
many directions and rank nearly the same without them. The features replace those with the text's weighted
words, among them rare names that a small network forgets. The sum of both scores is then one inner product,
at the same width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.linear import PackableModule
from sciprism.encoders.packing import PackedBatch

SHARE = 0.5
"""Length of the lexical part where the dense part has length 1."""
MIN_LENGTH = 1.0
"""Shorter sums of a text's words are not normalised to length 1: "the" and "of" alone say nothing."""


class LexicalFeatures(PackableModule):
    """The maps from pooled states and words to a text's vector.

    weight: of each token of the vocabulary, (V,). centre: subtracted from the word embeddings, (hidden,).
    words: from a word embedding to the lexical part, of `width` dimensions. dense: from pooled states to the
    dense part, of the others. share: length of the lexical part; the dense part has length 1.
    """

    packed: Tensor | None = None

    def __init__(self, vocabulary: int, hidden: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(vocabulary))
        self.centre = nn.Parameter(torch.zeros(hidden))
        self.words = nn.Linear(hidden, width, bias=False)
        self.dense = nn.Linear(hidden, hidden - width, bias=False)
        self.share = nn.Parameter(torch.full((1,), SHARE))

    def precompute(self, table: Tensor) -> None:
        """Store each token's features, (V, width), for inference; call it again after the weights change."""
        with torch.no_grad():
            self.packed = self.words((table - self.centre) * self.weight[:, None])

    def forward(self, pooled: Tensor, table: Tensor, batch: PackedBatch) -> Tensor:
        """Map vectors of a batch's texts, (B, hidden) or (B, R, hidden), to the same shape.

        table: the word embeddings, (V, hidden).
        """
        lexical = self.share * F.normalize(self.lexical_vectors(table, batch).float(), dim=-1, eps=MIN_LENGTH)
        dense = F.normalize(self.dense(pooled).float(), dim=-1)
        lexical = lexical.view(len(lexical), *(1,) * (pooled.dim() - 2), -1).expand(*pooled.shape[:-1], -1)
        return torch.cat([dense, lexical], dim=-1)

    def lexical_vectors(self, table: Tensor, batch: PackedBatch) -> Tensor:
        """Return the sum of the features of each text's tokens, (B, width)."""
        if self.packed is not None and not torch.is_grad_enabled():
            return F.embedding_bag(batch.ids, self.packed, batch.starts, mode="sum")
        rows = (F.embedding(batch.ids, table) - self.centre) * self.weight[batch.ids, None]
        lengths = torch.tensor(batch.lengths, device=rows.device)
        bags: Tensor = self.words(torch.segment_reduce(rows, "sum", lengths=lengths, unsafe=True))
        return bags

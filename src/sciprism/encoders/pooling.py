"""From hidden states to one vector per text: poolings, and lexical features, which encode the text's words."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.layers import PackableModule
from sciprism.encoders.packing import PackedBatch
from sciprism.registry import Registry

SHARE = 0.5  # length of the lexical part where the dense part has length 1
MIN_LENGTH = 1.0
"""Shorter sums of a text's words are not normalized to length 1: "the" and "of" alone say nothing."""


Pooling = Callable[[Tensor, PackedBatch, int], Tensor]
"""Reduces the states of each text, (T, hidden), to one row, (B, hidden), in the batch's order.

The number is that of the positions that the method reserves after each text's first token.
"""
poolings: Registry[Pooling] = Registry("pooling")


@poolings.register("cls")
def cls(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's first token."""
    return states[batch.starts]


@poolings.register("mean")
def mean(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the mean of all tokens of each text, special ones included, as sentence-transformers does."""
    return torch.segment_reduce(states, "mean", lengths=batch.sizes, unsafe=True)


@poolings.register("last")
def last(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's last token."""
    return states[batch.starts + batch.sizes - 1]


@poolings.register("code")
def code(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's second token, the control code (SciRepEval)."""
    if min(batch.lengths) < 2:
        raise ValueError("a text of 1 token has no code")
    return states[batch.starts + 1]


@poolings.register("facets")
def facets(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the sum of the states of each text's first token and reserved positions (Multi2SPE)."""
    return facet_states(states, batch, reserved).sum(dim=1)


def facet_states(states: Tensor, batch: PackedBatch, reserved: int) -> Tensor:
    """Return the states of first token and reserved positions of each text, (B, 1 + reserved, hidden)."""
    return states[batch.first_positions(reserved + 1)]


class LexicalFeatures(PackableModule[Tensor]):
    """Some dimensions of a vector encode a text's words, the others its meaning.

    Ours, after hybrid search, which adds a dense and a lexical score. The vectors of most encoders vary little in
    many directions and rank nearly the same without them. The features replace those with the text's weighted
    words, among them rare names that a small network forgets. The sum of both scores is then one inner product,
    at the same width.

    weight: of each token of the vocabulary, (V,). centre: subtracted from the word embeddings, (hidden,).
    words: from a word embedding to the lexical part, of `width` dimensions. dense: from pooled states to the
    dense part, of the others. share: length of the lexical part; the dense part has length 1.
    """

    def __init__(self, vocabulary: int, hidden: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(vocabulary))
        self.centre = nn.Parameter(torch.zeros(hidden))
        self.words = nn.Linear(hidden, width, bias=False)
        self.dense = nn.Linear(hidden, hidden - width, bias=False)
        self.share = nn.Parameter(torch.full((1,), SHARE))

    def pack(self, dtype: torch.dtype, *others: nn.Module) -> Tensor:  # noqa: ARG002 - float32
        """Return each token's features, (V, width)."""
        (table,) = others
        assert isinstance(table, nn.Embedding)
        return self.words((table.weight - self.centre) * self.weight[:, None])  # type: ignore[no-any-return]

    def forward(self, pooled: Tensor, table: nn.Embedding, batch: PackedBatch) -> Tensor:
        """Map vectors of a batch's texts, (B, hidden) or (B, R, hidden), to the same shape.

        table: the word embeddings, (V, hidden).
        """
        lexical = self.share * F.normalize(self.lexical_vectors(table, batch).float(), dim=-1, eps=MIN_LENGTH)
        dense = F.normalize(self.dense(pooled).float(), dim=-1)
        lexical = lexical.view(len(lexical), *(1,) * (pooled.dim() - 2), -1).expand(*pooled.shape[:-1], -1)
        return torch.cat([dense, lexical], dim=-1)

    def lexical_vectors(self, table: nn.Embedding, batch: PackedBatch) -> Tensor:
        """Return the sum of the features of each text's tokens, (B, width)."""
        if (packed := self.packed(table)) is not None:
            return F.embedding_bag(batch.ids, packed, batch.starts, mode="sum")
        rows = (table(batch.ids) - self.centre) * self.weight[batch.ids, None]
        bags: Tensor = self.words(torch.segment_reduce(rows, "sum", lengths=batch.sizes, unsafe=True))
        return bags

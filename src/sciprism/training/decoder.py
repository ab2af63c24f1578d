"""The one-layer decoder of masked auto-encoding (RetroMAE, section 3.2: enhanced decoding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from sciprism.encoders.attention import attend_dense
from sciprism.encoders.initialization import initialize_linears
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.transformer import Attention, Block, SelfAttention, Transformer


class Decoder(nn.Module):
    """A BERT block with separate queries and keys, in which each row attends to other tokens.

    It has the architecture of the encoder's blocks and their current dropout rates.
    """

    def __init__(self, encoder: Transformer) -> None:
        super().__init__()
        rate = next(each.dropout for each in encoder.modules() if isinstance(each, SelfAttention))
        self.block = Block(replace(encoder.config, dropout=encoder.embeddings.dropout.rate, attention_dropout=rate))
        initialize_linears(self.block)

    def forward(self, queries: Tensor, keys: Tensor, batch: PackedBatch, visible: Sequence[Tensor]) -> Tensor:
        """Map queries and keys, (T, hidden) each, to (T, hidden); visible: (n, n) of each text."""
        block, attention = self.block, self.block.attention
        assert isinstance(attention, Attention)
        q, k, v = (
            each.view(len(each), attention.heads, -1).transpose(0, 1)
            for each in (attention.query(queries), attention.key(keys), attention.value(keys))
        )
        rate = attention.dropout if self.training else 0.0
        parts = [
            attend_dense(q[:, a:b], k[:, a:b], v[:, a:b], rate, seen)
            for (a, b), seen in zip(pairwise(batch.bounds), visible, strict=True)
        ]
        attended = attention.output(torch.cat(parts, dim=1).transpose(0, 1).flatten(1))
        y = block.attention_norm(queries + block.dropout(attended))
        out: Tensor = block.feed_forward_norm(y + block.dropout(block.feed_forward(y, batch)))
        return out

"""The one-layer decoder of masked auto-encoding (RetroMAE, section 3.2: enhanced decoding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from sciprism.encoders.attention import attended
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import start_maps
from sciprism.encoders.transformer import Attention, Block, Heads, Transformer


class Decoder(nn.Module):
    """A BERT block whose queries are not its keys, and each of whose rows sees other tokens.

    It has the shape of the encoder's blocks and drops at the rates that these have now.
    """

    def __init__(self, encoder: Transformer) -> None:
        super().__init__()
        rate = next(each.dropout for each in encoder.modules() if isinstance(each, Heads))
        self.block = Block(
            replace(encoder.config, dropout=encoder.embeddings.dropout.rate, attention_dropout=rate)
        )
        start_maps(self.block)

    def forward(self, queries: Tensor, keys: Tensor, batch: PackedBatch, visible: Sequence[Tensor]) -> Tensor:
        """Map queries and keys, (T, hidden) each, to (T, hidden); visible: (n, n) of each text."""
        block = self.block
        y = block.attention_norm(queries + block.dropout(self._attended(queries, keys, batch, visible)))
        out: Tensor = block.feed_forward_norm(y + block.dropout(block.feed_forward(y, batch)))
        return out

    def _attended(
        self, queries: Tensor, keys: Tensor, batch: PackedBatch, visible: Sequence[Tensor]
    ) -> Tensor:
        attention = self.block.attention
        assert isinstance(attention, Attention)
        q, k, v = (
            each.view(len(each), attention.heads, -1).transpose(0, 1)
            for each in (attention.query(queries), attention.key(keys), attention.value(keys))
        )
        rate = attention.dropout if self.training else 0.0
        parts = [
            attended(q[:, a:b], k[:, a:b], v[:, a:b], rate, seen)
            for (a, b), seen in zip(pairwise(batch.bounds), visible, strict=True)
        ]
        return attention.output(torch.cat(parts, dim=1).transpose(0, 1).flatten(1))  # type: ignore[no-any-return]

"""Masked auto-encoding: a weak decoder reconstructs a text from its vector (RetroMAE, 3; INDUS, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.attention import attend_dense
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import initialize_linears
from sciprism.encoders.packing import PackedBatch, copy_tensor, pack
from sciprism.encoders.pooling import poolings
from sciprism.encoders.tables import NamedTable
from sciprism.encoders.transformer import Attention, Block, SelfAttention, Transformer
from sciprism.errors import InputError
from sciprism.training.batches import Ids
from sciprism.training.learners.learner import LearnerContext, learners
from sciprism.training.learners.masked_lm import (
    MaskedBlock,
    MaskedLMHead,
    MaskedLMLearner,
    choose_tokens,
    mask_tokens,
    read_head,
    sample_row_masks,
)


class Decoder(nn.Module):
    """A BERT block with separate queries and keys, in which each row attends to other tokens.

    It has the architecture of the encoder's blocks and their current dropout rates.
    """

    def __init__(self, encoder: Transformer) -> None:
        super().__init__()
        rate = next(module.dropout for module in encoder.modules() if isinstance(module, SelfAttention))
        self.block = Block(replace(encoder.config, dropout=encoder.embeddings.dropout.rate, attention_dropout=rate))
        initialize_linears(self.block)

    def forward(self, queries: Tensor, keys: Tensor, batch: PackedBatch, visible: Sequence[Tensor]) -> Tensor:
        """Map queries and keys, (T, hidden) each, to (T, hidden); visible: (n, n) of each text."""
        block, attention = self.block, self.block.attention
        assert isinstance(attention, Attention)
        q, k, v = (
            states.view(len(states), attention.heads, -1).transpose(0, 1)
            for states in (attention.query(queries), attention.key(keys), attention.value(keys))
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


class AutoEncodingSettings(NamedTable):
    """Settings of auto-encoding."""

    head_from: str = Field("", description="Stage or folder with the initial masked-LM head, if the model has none.")
    mask_probability: float = Field(0.3, gt=0, lt=1, description="Share of the encoder's tokens that are masked.")
    decoder_mask_probability: float = Field(0.5, gt=0, lt=1, description="Share of tokens hidden from a decoder row.")


@dataclass(frozen=True, slots=True)
class AutoEncodingBlock(MaskedBlock):
    """A block for encoder and decoder. unmasked: its ids. hidden: (n, n), what each row may not see."""

    unmasked: Ids
    hidden: NDArray[np.bool_]


@learners.register("auto-encoding")
class AutoEncodingLearner(MaskedLMLearner):
    """Masked language modelling, and reconstruction of the text from the vector of the masked one."""

    settings = AutoEncodingSettings
    loss_count = 2

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.decoder = Decoder(context.encoder.model).to(context.encoder.device)
        self.modules = nn.ModuleDict({"head": self.head, "decoder": self.decoder})

    def load_head(self) -> MaskedLMHead | None:
        """Return the head in the model's folder, or that of the stage or folder `head_from`."""
        head, source = super().load_head(), self.objective.head_from
        if head is not None or not source:
            return head
        other = self.context.load_model(source)
        folder = other.folder if isinstance(other, Encoder) else None
        head = read_head(folder, self.context.encoder.model.config)
        if head is None:
            raise InputError(f"auto-encoding: the model head_from = {source} has no masked-LM head")
        return head

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> AutoEncodingBlock:
        """Return a block with whole words masked, and what each of the decoder's rows may not see."""
        settings, classes = self.objective, self.token_classes
        chosen = choose_tokens(ids, classes, settings.mask_probability, rng, whole_words=True)
        hidden = sample_row_masks(ids, classes, settings.decoder_mask_probability, rng)
        weights = (float(len(chosen)), float(max(1, len(ids) - 2)))
        masked = mask_tokens(ids, chosen, classes, rng)
        return AutoEncodingBlock(masked, weights, chosen, ids[chosen], ids, hidden)

    def loss_sums(self, blocks: Sequence[Any]) -> Tensor:
        """Return the sums over the encoder's masked tokens, and over all but the first and last, (2,)."""
        encoder = self.context.encoder
        batch = self.pack_blocks(blocks)
        states = encoder.model(batch)
        vectors = poolings[encoder.settings.pooling](states, batch, encoder.method.reserved_positions)
        decoded = self._decode(vectors, blocks)
        inner = np.concatenate([np.arange(len(b.ids)) % (len(b.ids) - 1) > 0 for b in blocks])
        targets = np.concatenate([block.unmasked[1:-1] for block in blocks])
        reconstruction = self.token_loss(decoded[copy_tensor(torch.from_numpy(inner), decoded.device)], targets)
        return torch.stack([self.masked_loss(states, blocks), reconstruction])

    def format_score(self, score: float) -> str:
        """Return the score as the loss, a sum of two."""
        return f"loss {-math.log(score):.3f}"

    def _decode(self, vectors: Tensor, blocks: Sequence[AutoEncodingBlock]) -> Tensor:
        """Return the decoder's states, (T, hidden), from vectors (B, hidden) and what each row may see."""
        encoder = self.context.encoder
        batch = pack([block.unmasked.tolist() for block in blocks], encoder.route(), device=encoder.device)
        embeddings = encoder.model.embeddings
        of_text = torch.repeat_interleave(vectors, batch.sizes, dim=0, output_size=len(batch.ids))
        queries = embeddings.position(batch.positions + embeddings.first_position) + of_text
        first = (batch.positions == 0)[:, None]
        keys = torch.where(first, of_text, embeddings(batch))
        visible = [copy_tensor(torch.from_numpy(~block.hidden), vectors.device) for block in blocks]
        return self.decoder(queries, keys, batch, visible)  # type: ignore[no-any-return]

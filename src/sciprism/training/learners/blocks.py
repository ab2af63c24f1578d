"""Objectives of token blocks: losses of the states of tokens, which need no other text of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from sciprism.encoders.packing import PackedBatch, pack, token_batches
from sciprism.training.batches import Batch, Ids
from sciprism.training.learners.learner import Learner

CHUNK_TOKENS = 2048
"""Tokens of held-out blocks that are scored at once."""


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """A block as the model reads it. weights: the number of terms in each of the learner's sums."""

    ids: Ids
    weights: tuple[float, ...]


class BlockLearner(Learner):
    """A loss of the states of tokens: sums over blocks, each divided by the weight of all blocks.

    loss_count: the number of sums.
    """

    loss_count: ClassVar[int] = 1
    reads: ClassVar[Literal["examples", "blocks"]] = "blocks"

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> TokenBlock:
        """Return a block as the model reads it, with what is sampled for it."""
        raise NotImplementedError

    def loss_sums(self, blocks: Sequence[TokenBlock]) -> Tensor:
        """Return the sums of the losses of these blocks, (K,), one for each weight of a block."""
        raise NotImplementedError

    def pack_blocks(self, blocks: Sequence[TokenBlock]) -> PackedBatch:
        """Return blocks as one batch of the model."""
        encoder = self.context.encoder
        return pack([block.ids.tolist() for block in blocks], encoder.route(), device=encoder.device)

    def score(self, batch: Batch) -> float:
        """Return e^-loss of held-out blocks: for a masked language model 1 / perplexity."""
        self.modules.eval()
        blocks = prepare_blocks(self, batch)
        chunks = token_batches([len(block.ids) for block in blocks], CHUNK_TOKENS)
        with torch.inference_mode():
            sums = [self.loss_sums([blocks[i] for i in chunk]).double().cpu().numpy() for chunk in chunks]
        self.modules.train()
        weights = np.sum([block.weights for block in blocks], axis=0)
        return math.exp(-float((np.sum(sums, axis=0) / weights).sum()))


def prepare_blocks(learner: BlockLearner, batch: Batch) -> list[TokenBlock]:
    """Return the blocks of a batch as the model reads them."""
    rngs = map(np.random.default_rng, batch.block_seeds)
    return [learner.prepare_block(ids, rng) for ids, rng in zip(batch.blocks, rngs, strict=True)]

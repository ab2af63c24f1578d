"""What blocks of tokens teach: losses of the states of tokens, which need no other text of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from sciprism.encoders.packing import PackedBatch, pack, token_batches
from sciprism.training.batch import Batch, Ids
from sciprism.training.learners.learner import Learner

PIECE = 2048
"""Tokens of held-out blocks that are scored at once."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block as the model reads it. weights: over how many things each of the learner's sums goes."""

    ids: Ids
    weights: tuple[float, ...]


class BlockLearner(Learner):
    """A loss of the states of tokens: sums over a piece's blocks, each divided by all blocks' weights.

    parts: how many sums there are.
    """

    parts: ClassVar[int] = 1
    reads: ClassVar[Literal["examples", "blocks"]] = "blocks"

    def prepared(self, ids: Ids, draw: np.random.Generator) -> Block:
        """Return a block as it is read, with what is drawn for it."""
        raise NotImplementedError

    def sums(self, blocks: Sequence[Block]) -> Tensor:
        """Return what the losses of these blocks add up to, (K,), a number for each weight of a block."""
        raise NotImplementedError

    def packed(self, blocks: Sequence[Block]) -> PackedBatch:
        """Return blocks as one batch of the model."""
        encoder = self.tools.encoder
        return pack([block.ids.tolist() for block in blocks], encoder.route(), device=encoder.device)

    def score(self, batch: Batch) -> float:
        """Return e^-loss of held-out blocks: of a masked language model one over its perplexity."""
        if self.modules is not None:
            self.modules.eval()
        blocks = prepared(self, batch)
        pieces = token_batches([len(block.ids) for block in blocks], PIECE)
        with torch.inference_mode():
            sums = [self.sums([blocks[i] for i in piece]).double().cpu().numpy() for piece in pieces]
        if self.modules is not None:
            self.modules.train()
        weights = np.sum([block.weights for block in blocks], axis=0)
        return math.exp(-float((np.sum(sums, axis=0) / weights).sum()))


def prepared(learner: BlockLearner, batch: Batch) -> list[Block]:
    """Return the blocks of a batch as the model reads them."""
    draws = map(np.random.default_rng, batch.draws)
    return [learner.prepared(ids, draw) for ids, draw in zip(batch.blocks, draws, strict=True)]

"""Blocks of tokens through the encoder, piece by piece: each piece has its loss and gradient at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from sciprism.encoders.dropout import drawn_from
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import token_batches
from sciprism.training.batch import Batch
from sciprism.training.batches import mixed
from sciprism.training.learners.blocks import Block, BlockLearner, prepared
from sciprism.training.passes import Memory, add_gradients, autocast
from sciprism.training.processes import Processes


class Blockwise:
    """The losses of several sources of blocks, added up; the face is that of `Together`."""

    def __init__(
        self, encoder: Encoder, learners: Sequence[BlockLearner], *, processes: Processes, memory: Memory
    ) -> None:
        self.encoder, self.learners, self.processes, self.memory = encoder, learners, processes, memory
        heads = {str(place): each.modules for place, each in enumerate(learners) if each.modules is not None}
        self.modules = nn.ModuleDict({"heads": nn.ModuleDict(heads)})

    def __call__(self, batches: Sequence[tuple[int, Batch]], scale: float) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the place of a source, and blocks of it.
        """
        return [self._of_source(self.learners[place], batch, scale) for place, batch in batches]

    def _of_source(self, learner: BlockLearner, batch: Batch, scale: float) -> float:
        blocks = prepared(learner, batch)
        weights = self._weights(blocks, learner.parts)
        found = [
            [blocks[i] for i in piece]
            for piece in token_batches([len(b.ids) for b in blocks], self.memory.tokens)
        ]
        modules = [self.encoder.model, *([learner.modules] if learner.modules is not None else [])]
        parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        losses = [0.0] * len(found)

        def gradients(number: int) -> Sequence[Tensor | None]:
            device = self.encoder.device
            with autocast(self.memory, device), drawn_from(mixed(batch.seed, "piece", number), device):
                loss = (learner.sums(found[number]).float() / weights).sum()
            losses[number] = float(loss.detach())
            return torch.autograd.grad(loss * scale, parameters, allow_unused=True)

        add_gradients(parameters, len(found), gradients, self.encoder.device)
        return self.processes.sum(sum(losses))

    def _weights(self, blocks: Sequence[Block], count: int) -> Tensor:
        """Return over how many things each sum goes, in all processes; this one may have no block."""
        own = np.array([block.weights for block in blocks]).reshape(-1, count).sum(axis=0)
        return torch.tensor([self.processes.sum(each) for each in own], device=self.encoder.device)

"""A step over token blocks, chunk by chunk: each chunk has its loss and gradient at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from sciprism.encoders.dropout import seeded_dropout
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import token_batches
from sciprism.seeding import derive_seed
from sciprism.training.batch import Batch
from sciprism.training.learners.blocks import BlockLearner, prepare_blocks
from sciprism.training.passes import PassSettings, add_gradients, autocast
from sciprism.training.processes import Processes


class BlockStep:
    """Add up the losses of several sources of blocks; interchangeable with `JointStep`."""

    def __init__(
        self,
        encoder: Encoder,
        learners: Sequence[BlockLearner],
        *,
        processes: Processes,
        settings: PassSettings,
    ) -> None:
        self.encoder, self.learners = encoder, learners
        self.processes, self.settings = processes, settings
        heads = nn.ModuleDict({str(number): each.modules for number, each in enumerate(learners)})
        self.modules = nn.ModuleDict({"heads": heads})

    def __call__(self, batches: Sequence[tuple[int, Batch]], scale: float) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the number of a source, and blocks of it.
        """
        return [self._add_gradient(self.learners[source], batch, scale) for source, batch in batches]

    def _add_gradient(self, learner: BlockLearner, batch: Batch, scale: float) -> float:
        """Return the loss over the blocks of all processes, of which this one may have none."""
        device = self.encoder.device
        blocks = prepare_blocks(learner, batch)
        own = np.array([block.weights for block in blocks]).reshape(-1, learner.loss_count).sum(axis=0)
        weights = torch.tensor([self.processes.sum(each) for each in own], device=device)
        chunks = [
            [blocks[i] for i in chunk]
            for chunk in token_batches([len(b.ids) for b in blocks], self.settings.chunk_tokens)
        ]
        modules = (self.encoder.model, learner.modules)
        parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        losses = [0.0] * len(chunks)

        def gradients(number: int) -> Sequence[Tensor | None]:
            seed = derive_seed(batch.seed, "piece", number)
            with autocast(self.settings, device), seeded_dropout(seed, device):
                loss = (learner.loss_sums(chunks[number]).float() / weights).sum()
            losses[number] = float(loss.detach())
            return torch.autograd.grad(loss * scale, parameters, allow_unused=True)

        add_gradients(parameters, len(chunks), gradients, device)
        return self.processes.sum(sum(losses))

"""The gradient of a batch: of vectors of several sources jointly, or of token blocks chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import seeded_dropout
from sciprism.encoders.packing import token_batches
from sciprism.seeding import derive_seed
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import BlockLearner, Learner, prepare_blocks
from sciprism.training.passes import EncoderPass, PassSettings, add_gradients, autocast
from sciprism.training.processes import Processes
from sciprism.training.weighting import Weighting


class JointStep:
    """Add up the weighted losses of several sources.

    learners: one for each source. `modules`: what is trained besides the encoder, and the weighting's state.
    """

    def __init__(
        self,
        encoder: Encoder,
        learners: Sequence[Learner],
        *,
        weighting: Weighting,
        processes: Processes,
        settings: PassSettings,
    ) -> None:
        self.encoder, self.processes, self.settings = encoder, processes, settings
        self.learners, self.weighting = learners, weighting
        self.by_facet = any(learner.by_facet for learner in learners)
        heads = nn.ModuleDict({str(number): learner.modules for number, learner in enumerate(learners)})
        self.modules = nn.ModuleDict({"heads": heads, "weighting": weighting})

    def __call__(self, batches: Sequence[tuple[int, Batch]], scale: float) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the number of a source, and examples of it.
        """
        pairs = [(self.learners[source], batch) for source, batch in batches]
        encoder_pass, vectors = self._encode(pairs)
        losses, shown = [], []
        for (learner, batch), groups in zip(pairs, vectors, strict=True):
            with seeded_dropout(derive_seed(batch.seed, "loss"), self.encoder.device):
                losses.append(self._loss(learner, batch, groups))
            loss = float(losses[-1].detach())
            shown.append(loss if learner.gathers else self.processes.sum(loss))
        norms = [1.0] * len(batches)
        if self.weighting.by_gradients:
            norms = [gradient_norm(loss, groups, self.processes) for loss, groups in zip(losses, vectors, strict=True)]
        sources = [source for source, _ in batches]
        device = self.encoder.device
        weights = self.weighting(*(torch.tensor(values, device=device) for values in (sources, shown, norms)))
        total = torch.stack([w * loss for w, loss in zip(weights, losses, strict=True)]).sum()
        (total * scale).backward()  # type: ignore[no-untyped-call]
        encoder_pass.backward()
        return shown

    def _loss(self, learner: Learner, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss, or this process's part of it: parts add up to the mean over all processes."""
        if learner.gathers:
            return learner.loss(batch, vectors)
        count = learner.count(batch)
        total = self.processes.sum(count)
        if not count:
            return torch.zeros((), device=self.encoder.device)
        return learner.loss(batch, vectors) * (count / total)

    def _encode(self, batches: Sequence[tuple[Learner, Batch]]) -> tuple[EncoderPass, list[list[Tensor]]]:
        """Return the pass of all texts, and the vectors of each learner's groups of texts."""
        texts: list[str] = []
        routes: list[str] = []
        bounds, counts = [0], []
        for learner, batch in batches:
            groups = learner.select_texts(batch)
            counts.append(len(groups))
            for items, role in groups:
                texts += self.encoder.texts(items, role)
                routes += [self.encoder.route(batch.format, role)] * len(items)
                bounds.append(len(texts))
        encoder_pass = EncoderPass(
            self.encoder,
            self.encoder.tokenize(texts),
            routes,
            settings=self.settings,
            seed=batches[0][1].seed,
            by_facet=self.by_facet,
        )
        slices = iter([encoder_pass.vectors[start:end] for start, end in pairwise(bounds)])
        vectors = [[next(slices) for _ in range(count)] for count in counts]
        if self.by_facet:  # the other learners get the sum of the facets
            for number, (learner, _) in enumerate(batches):
                if not learner.by_facet:
                    vectors[number] = [facets.sum(dim=1) for facets in vectors[number]]
        return encoder_pass, vectors


def gradient_norm(loss: Tensor, vectors: Sequence[Tensor], processes: Processes) -> float:
    """Return the norm of a loss's gradient with respect to its vectors, times the root of their number.

    The norm for a mean over n vectors is proportional to 1 / sqrt(n): without the factor a source would gain
    weight for its size.
    """
    gradients: Sequence[Tensor | None] = ()
    if loss.requires_grad:  # a process without examples of a source has no graph
        gradients = torch.autograd.grad(loss, vectors, retain_graph=True, allow_unused=True)
    squares = sum(float(gradient.square().sum()) for gradient in gradients if gradient is not None)
    count = processes.sum(sum(map(len, vectors)))
    return math.sqrt(processes.sum(squares) * count)


class BlockStep:
    """Add up the losses of several sources of blocks; interchangeable with `JointStep`."""

    def __init__(
        self, encoder: Encoder, learners: Sequence[BlockLearner], *, processes: Processes, settings: PassSettings
    ) -> None:
        self.encoder, self.learners = encoder, learners
        self.processes, self.settings = processes, settings
        heads = nn.ModuleDict({str(number): learner.modules for number, learner in enumerate(learners)})
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
        totals = np.array([block.weights for block in blocks]).reshape(-1, learner.loss_count).sum(axis=0)
        weights = torch.tensor([self.processes.sum(total) for total in totals], device=device)
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

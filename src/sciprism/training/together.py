"""One step's batches through the encoder in one pass, whatever their sources ask, and all gradients back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from sciprism.encoders.dropout import drawn_from
from sciprism.encoders.encoder import Encoder
from sciprism.training.batch import Batch
from sciprism.training.batches import mixed
from sciprism.training.learners.learner import Learner
from sciprism.training.passes import Memory, Pass
from sciprism.training.processes import Processes
from sciprism.training.weighting import Weighting


class Together:
    """The losses of several sources, added up.

    learners: one for each source. `modules` are what is trained besides the encoder, and what the weighting
    remembers.
    """

    def __init__(
        self,
        encoder: Encoder,
        learners: Sequence[Learner],
        *,
        weighting: Weighting,
        processes: Processes,
        memory: Memory,
    ) -> None:
        self.encoder, self.processes, self.memory = encoder, processes, memory
        self.learners, self.weighting = learners, weighting
        self.by_facet = any(each.by_facet for each in learners)
        heads = {str(place): each.modules for place, each in enumerate(learners) if each.modules is not None}
        self.modules = nn.ModuleDict({"heads": nn.ModuleDict(heads), "weighting": weighting})

    def __call__(self, batches: Sequence[tuple[int, Batch]], scale: float) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the place of a source, and examples of it.
        """
        learners = [self.learners[place] for place, _ in batches]
        way, parts = self._encoded(
            [(each, batch) for each, (_, batch) in zip(learners, batches, strict=True)]
        )
        losses, shown = [], []
        for learner, (_, batch), vectors in zip(learners, batches, parts, strict=True):
            with drawn_from(mixed(batch.seed, "loss"), self.encoder.device):
                losses.append(self._part(learner, batch, vectors))
            own = float(losses[-1].detach())
            shown.append(own if learner.whole else self.processes.sum(own))
        weights = self._weights([place for place, _ in batches], losses, shown, parts)
        total = torch.stack([w * loss for w, loss in zip(weights, losses, strict=True)]).sum()
        (total * scale).backward()  # type: ignore[no-untyped-call]
        way.backward()
        return shown

    def _part(self, learner: Learner, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss, or this process's part of it: parts add up to the mean over all processes."""
        if learner.whole:
            return learner.loss(batch, vectors)
        count = learner.count(batch)
        total = self.processes.sum(count)
        if not count:
            return torch.zeros((), device=self.encoder.device)
        return learner.loss(batch, vectors) * (count / total)

    def _encoded(self, batches: Sequence[tuple[Learner, Batch]]) -> tuple[Pass, list[list[Tensor]]]:
        """Return the pass of all texts, and the vectors of each list of texts that was asked for."""
        texts: list[str] = []
        routes: list[str] = []
        bounds, counts = [0], []
        for learner, batch in batches:
            asked = learner.asks(batch)
            counts.append(len(asked))
            for items, role in asked:
                texts += self.encoder.texts(items, role)
                routes += [self.encoder.route(batch.format, role)] * len(items)
                bounds.append(len(texts))
        sequences = self.encoder.tokenize(texts)
        seed = batches[0][1].seed
        way = Pass(self.encoder, sequences, routes, memory=self.memory, seed=seed, by_facet=self.by_facet)
        slices = iter([way.vectors[start:end] for start, end in pairwise(bounds)])
        parts = [[next(slices) for _ in range(count)] for count in counts]
        if self.by_facet:  # who does not look at facets gets their sum
            for (learner, _), vectors in zip(batches, parts, strict=True):
                vectors[:] = vectors if learner.by_facet else [each.sum(dim=1) for each in vectors]
        return way, parts

    def _weights(
        self,
        places: Sequence[int],
        losses: Sequence[Tensor],
        shown: Sequence[float],
        parts: Sequence[Sequence[Tensor]],
    ) -> Tensor:
        norms = [1.0] * len(places)
        if self.weighting.by_gradients:
            pairs = zip(losses, parts, strict=True)
            norms = [gradient_length(loss, vectors, self.processes) for loss, vectors in pairs]
        device = self.encoder.device
        numbers = (torch.tensor(each, device=device) for each in (places, shown, norms))
        weights: Tensor = self.weighting(*numbers)
        return weights


def gradient_length(loss: Tensor, vectors: Sequence[Tensor], processes: Processes) -> float:
    """Return the length of a loss's gradient by its vectors, as if its mean were over one of them.

    That of a mean over n vectors shrinks with the root of n: a source would gain weight for its size.
    """
    found: Sequence[Tensor | None] = ()
    if loss.requires_grad:  # a process without examples of a source has no graph
        found = torch.autograd.grad(loss, vectors, retain_graph=True, allow_unused=True)
    own = sum(float(each.square().sum()) for each in found if each is not None)
    count = processes.sum(sum(map(len, vectors)))
    return math.sqrt(processes.sum(own) * count)

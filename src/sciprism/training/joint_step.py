"""A step over examples of several sources: one pass through the encoder, and all gradients back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from sciprism.encoders.dropout import seeded_dropout
from sciprism.encoders.encoder import Encoder
from sciprism.seeding import derive_seed
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Learner
from sciprism.training.passes import EncoderPass, PassSettings
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
        self.by_facet = any(each.by_facet for each in learners)
        heads = nn.ModuleDict({str(number): each.modules for number, each in enumerate(learners)})
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
            own = float(losses[-1].detach())
            shown.append(own if learner.gathers else self.processes.sum(own))
        norms = [1.0] * len(batches)
        if self.weighting.by_gradients:
            norms = [gradient_norm(loss, groups, self.processes) for loss, groups in zip(losses, vectors, strict=True)]
        sources = [source for source, _ in batches]
        weights = self.weighting(*(torch.tensor(each, device=self.encoder.device) for each in (sources, shown, norms)))
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
            for (learner, _), found in zip(batches, vectors, strict=True):
                found[:] = found if learner.by_facet else [each.sum(dim=1) for each in found]
        return encoder_pass, vectors


def gradient_norm(loss: Tensor, vectors: Sequence[Tensor], processes: Processes) -> float:
    """Return the norm of a loss's gradient with respect to its vectors, times the root of their number.

    The norm for a mean over n vectors is proportional to 1 / sqrt(n): without the factor a source would gain
    weight for its size.
    """
    found: Sequence[Tensor | None] = ()
    if loss.requires_grad:  # a process without examples of a source has no graph
        found = torch.autograd.grad(loss, vectors, retain_graph=True, allow_unused=True)
    own = sum(float(each.square().sum()) for each in found if each is not None)
    count = processes.sum(sum(map(len, vectors)))
    return math.sqrt(processes.sum(own) * count)

"""The gradient of a batch: of vectors of several sources jointly, or of token blocks chunk by chunk.

A contrastive loss needs the vectors of a whole batch at once, but not their graphs. The vectors are computed
chunk by chunk, the loss gives the gradient of each vector, and each chunk passes its part back to the
weights. With gradient caching (Gao et al. 2021) a chunk keeps no graph and is computed again in the backward pass: same
gradient, memory of one chunk. On a CPU each chunk uses one core and several run in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import copy_integers, even_budget, pack, seeded_dropout, token_batches
from sciprism.encoders.settings import PRECISIONS
from sciprism.encoders.transformer import TransformerConfig
from sciprism.parallel import map_threads
from sciprism.seeding import derive_seed
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import BlockLearner, Learner, TokenBlock, prepare_blocks
from sciprism.training.processes import Processes


class PreparedTexts(NamedTuple):
    """The texts of a step: token ids, route of each; bounds of the groups of texts, and their number by batch."""

    sequences: Sequence[Sequence[int]]
    routes: Sequence[str]
    bounds: Sequence[int]
    counts: Sequence[int]


class Step:
    """Adds the gradients of batches. learners: one for each source. `modules`: what is trained besides the encoder."""

    def __init__(
        self, encoder: Encoder, learners: Sequence[Any], *, processes: Processes, settings: PassSettings
    ) -> None:
        self.encoder, self.learners, self.processes, self.settings = encoder, learners, processes, settings
        self.modules = nn.ModuleDict(
            {"heads": nn.ModuleDict({str(n): each.modules for n, each in enumerate(learners)})}
        )


class JointStep(Step):
    """Add up the losses of several sources."""

    def __call__(
        self, batches: Sequence[tuple[int, Batch]], scale: float, prepared: PreparedTexts | None = None
    ) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the number of a source, and examples of it. prepared: what `prepare` has returned for them.
        """
        pairs = [(self.learners[source], batch) for source, batch in batches]
        encoder_pass, vectors = self._encode(pairs, self.prepare(batches) if prepared is None else prepared)
        losses = []
        for (learner, batch), groups in zip(pairs, vectors, strict=True):
            with seeded_dropout(derive_seed(batch.seed, "loss"), self.encoder.device):
                losses.append(self._loss(learner, batch, groups).float())
        total = torch.stack(losses)
        (total.sum() * scale).backward()  # type: ignore[no-untyped-call]
        encoder_pass.backward()
        values = total.tolist()  # now: the host would wait for the device before
        if self.processes.count == 1:
            return values
        by_batch = zip(pairs, values, strict=True)
        return [loss if learner.gathers else self.processes.sum(loss) for (learner, _), loss in by_batch]

    def prepare(self, batches: Sequence[tuple[int, Batch]]) -> PreparedTexts:
        """Tokenize the texts of a step, which needs no device."""
        texts: list[str] = []
        routes: list[str] = []
        bounds, counts = [0], []
        for source, batch in batches:
            groups = self.learners[source].select_texts(batch)
            counts.append(len(groups))
            for items, role in groups:
                texts += self.encoder.texts(items, role)
                routes += [self.encoder.route(batch.format, role)] * len(items)
                bounds.append(len(texts))
        return PreparedTexts(self.encoder.tokenize(texts), routes, bounds, counts)

    def _loss(self, learner: Learner, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss, or this process's part of it: parts add up to the mean over all processes."""
        if learner.gathers:
            return learner.loss(batch, vectors)
        count = learner.count(batch)
        total = self.processes.sum(count)
        if not count:
            return torch.zeros((), device=self.encoder.device)
        return learner.loss(batch, vectors) * (count / total)

    def _encode(
        self, batches: Sequence[tuple[Learner, Batch]], prepared: PreparedTexts
    ) -> tuple[EncoderPass, list[list[Tensor]]]:
        """Return the pass of all texts, and the vectors of each learner's groups of texts."""
        by_facet = any(learner.by_facet for learner in self.learners)
        encoder_pass = EncoderPass(
            self.encoder,
            prepared.sequences,
            prepared.routes,
            settings=self.settings,
            seed=batches[0][1].seed,
            by_facet=by_facet,
        )
        slices = iter([encoder_pass.vectors[start:end] for start, end in pairwise(prepared.bounds)])
        vectors = [[next(slices) for _ in range(count)] for count in prepared.counts]
        if by_facet:  # the other learners get the sum of the facets
            for number, (learner, _) in enumerate(batches):
                if not learner.by_facet:
                    vectors[number] = [facets.sum(dim=1) for facets in vectors[number]]
        return encoder_pass, vectors


class BlockStep(Step):
    """Add up the losses of several sources of blocks; interchangeable with `JointStep`."""

    def __call__(
        self, batches: Sequence[tuple[int, Batch]], scale: float, prepared: Sequence[list[TokenBlock]] | None = None
    ) -> list[float]:
        """Add the gradient of the sum of the losses times `scale`; return each loss over all processes.

        batches: the number of a source, and blocks of it. prepared: what `prepare` has returned for them.
        """
        blocks = self.prepare(batches) if prepared is None else prepared
        return [
            self._add_gradient(self.learners[source], batch, part, scale)
            for (source, batch), part in zip(batches, blocks, strict=True)
        ]

    def prepare(self, batches: Sequence[tuple[int, Batch]]) -> list[list[TokenBlock]]:
        """Return the blocks of a step as the model reads them, which needs no device."""
        return [prepare_blocks(self.learners[source], batch) for source, batch in batches]

    def _add_gradient(self, learner: BlockLearner, batch: Batch, blocks: Sequence[TokenBlock], scale: float) -> float:
        """Return the loss over the blocks of all processes, of which this one may have none."""
        device = self.encoder.device
        totals = np.array([block.weights for block in blocks]).reshape(-1, learner.loss_count).sum(axis=0)
        weights = torch.tensor([self.processes.sum(total) for total in totals], device=device)
        chunks = [
            [blocks[i] for i in chunk]
            for chunk in token_batches([len(b.ids) for b in blocks], self.settings.chunk_tokens)
        ]
        modules = (self.encoder.model, learner.modules)
        parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        losses: list[float | Tensor] = [0.0] * len(chunks)

        def gradients(number: int) -> Sequence[Tensor | None]:
            seed = derive_seed(batch.seed, "piece", number)
            with autocast(self.settings, device), seeded_dropout(seed, device):
                loss = (learner.loss_sums(chunks[number]).float() / weights).sum()
            losses[number] = loss.detach()
            return torch.autograd.grad(loss * scale, parameters, allow_unused=True)

        add_gradients(parameters, len(chunks), gradients, device)
        return self.processes.sum(sum(map(float, losses)))


# ---- passes of texts ----


T = TypeVar("T")
R = TypeVar("R")
CHUNK_TOKENS = 2_048  # of a CPU core: their states fit in its cache
STATE_BYTES = 8  # of a number that a backward pass needs: itself and its dropout, or its copy in half precision


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSettings:
    """Memory and precision of a pass.

    chunk_tokens: tokens that are encoded at once. precision: of matrix products. gradient_caching: keep no
    graphs.
    """

    chunk_tokens: int
    precision: str = "float32"
    gradient_caching: bool = False


def default_chunk_tokens(device: torch.device, config: TransformerConfig) -> int:
    """Return the tokens encoded at once: on a GPU a power of two whose states are at most half of its memory."""
    if device.type != "cuda":
        return CHUNK_TOKENS
    states = STATE_BYTES * config.layers * (8 * config.hidden + 2 * config.intermediate)  # of one token
    tokens = torch.cuda.get_device_properties(device).total_memory / 2 / states
    return int(min(32_768, max(CHUNK_TOKENS, 2 ** math.floor(math.log2(tokens)))))


class EncoderPass:
    """A forward pass of a batch's texts through an encoder, and the backward pass.

    sequences: token ids of each text. routes: of each text. seed: of all dropout. `vectors` is (n, dim) in
    the order given, or (n, K, dim) by facet; once it has a gradient, `backward` adds to that of the weights.
    """

    def __init__(
        self,
        encoder: Encoder,
        sequences: Sequence[Sequence[int]],
        routes: Sequence[str],
        *,
        settings: PassSettings,
        seed: int,
        by_facet: bool = False,
    ) -> None:
        self._encoder = encoder
        self._vectors = encoder.facets if by_facet else encoder.vectors
        self._settings = settings
        self._seed = seed
        lengths = [len(ids) for ids in sequences]
        tokens = even_budget(lengths, settings.chunk_tokens, count_threads(encoder.device))
        self._chunks = _split_into_chunks(lengths, routes, tokens)
        self._batches = [
            pack([sequences[i] for i in chunk], [routes[i] for i in chunk], device=encoder.device)
            for chunk in self._chunks
        ]
        self._parameters = [p for p in encoder.model.parameters() if p.requires_grad]
        self._graphs: list[Tensor] = []
        self.vectors = self._forward()

    def backward(self) -> None:
        """Add the gradient of the weights that follows from the gradient of `vectors`."""
        if self.vectors.grad is None or not self._parameters:
            return
        parts = [self.vectors.grad[copy_integers(chunk, self.vectors.device)] for chunk in self._chunks]

        def gradients(number: int) -> Sequence[Tensor | None]:
            vectors = self._graphs[number] if self._graphs else self._compute(number)
            return torch.autograd.grad(vectors, self._parameters, parts[number], allow_unused=True)

        add_gradients(self._parameters, len(self._chunks), gradients, self._encoder.device)
        self._graphs = []

    def _forward(self) -> Tensor:
        keep_graphs = not self._settings.gradient_caching and bool(self._parameters)

        def work(number: int) -> Tensor:
            with torch.set_grad_enabled(keep_graphs):
                return self._compute(number)

        chunk_vectors = _map(work, range(len(self._chunks)), self._encoder.device)
        self._graphs = chunk_vectors if keep_graphs else []
        order = copy_integers([i for chunk in self._chunks for i in chunk], self._encoder.device)
        rows = torch.cat([vectors.detach() for vectors in chunk_vectors])
        vectors = torch.empty_like(rows)
        vectors[order] = rows
        return vectors.requires_grad_()

    def _compute(self, number: int) -> Tensor:
        device = self._encoder.device
        with autocast(self._settings, device), seeded_dropout(self._seed + number, device):
            return self._vectors(self._batches[number]).float()


def autocast(settings: PassSettings, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which matrix products have the precision of the settings."""
    dtype = PRECISIONS[settings.precision]
    return torch.autocast(device.type, dtype, enabled=dtype is not torch.float32)


def add_gradients(
    parameters: Sequence[Tensor], chunks: int, gradients: Callable[[int], Sequence[Tensor | None]], device: torch.device
) -> None:
    """Add the gradients of all chunks to those of the parameters; on a CPU several run in parallel."""
    threads = count_threads(device)
    # A fixed assignment: the order of sums does not depend on timing.
    shares = [range(first, chunks, threads) for first in range(min(threads, chunks))]

    def work(share: Sequence[int]) -> list[Tensor | None]:
        total: list[Tensor | None] = [None] * len(parameters)
        for number in share:
            total = [_add(old, new) for old, new in zip(total, gradients(number), strict=True)]
        return total

    for totals in _map(work, shares, device):
        for parameter, gradient in zip(parameters, totals, strict=True):
            total = _add(parameter.grad, gradient)
            # The fused AdamW reads a gradient in its parameter's layout, whatever its strides are.
            parameter.grad = None if total is None else total.contiguous()


def count_threads(device: torch.device) -> int:
    """Return the number of chunks that are computed in parallel."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def _map(work: Callable[[T], R], items: Sequence[T], device: torch.device) -> list[R]:
    if count_threads(device) > 1 and len(items) > 1:
        return map_threads(work, items)
    return [work(item) for item in items]


def _split_into_chunks(lengths: Sequence[int], routes: Sequence[str], tokens: int) -> list[list[int]]:
    """Return the texts of each chunk, at most `tokens` of one route and of similar lengths."""
    groups = []
    for _, group in groupby(sorted(range(len(lengths)), key=lambda i: routes[i]), key=lambda i: routes[i]):
        members = list(group)
        chunks = token_batches([lengths[i] for i in members], tokens)
        groups += [[members[i] for i in chunk] for chunk in chunks]
    return groups


def _add(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    if old is None or new is None:
        return new if old is None else old
    return old.add_(new)

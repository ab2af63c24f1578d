"""Texts to vectors and gradients back, in chunks that fit memory (gradient caching, Gao et al. 2021).

A contrastive loss needs the vectors of a whole batch at once, but not their graphs. The vectors are computed
chunk by chunk, the loss gives the gradient of each vector, and each chunk passes its part back to the
weights. With caching a chunk keeps no graph and is computed again in the backward pass: same gradient, memory
of one chunk. On a CPU each chunk uses one core and several run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

import torch
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import seeded_dropout
from sciprism.encoders.packing import even_budget, pack, token_batches
from sciprism.encoders.settings import PRECISIONS
from sciprism.parallel import map_threads

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSettings:
    """Memory and precision of a pass.

    chunk_tokens: tokens that are encoded at once. precision: of matrix products. gradient_caching: keep no
    graphs.
    """

    chunk_tokens: int
    precision: str = "float32"
    gradient_caching: bool = False


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
        parts = [self.vectors.grad[chunk] for chunk in self._chunks]

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
        order = torch.tensor([i for chunk in self._chunks for i in chunk], device=self._encoder.device)
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

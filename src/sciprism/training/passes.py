"""Texts to vectors and gradients back, in pieces that fit memory (gradient caching, Gao et al. 2021).

A contrastive loss needs the vectors of a whole batch at once, but not their graphs. The vectors are computed
piece by piece, the loss gives each vector's gradient, and each piece carries its part back to the weights.
With caching a piece keeps no graph and is computed a second time on the way back: same gradient, memory of
one piece. On a CPU each piece runs on one core and several run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

import torch
from torch import Tensor

from sciprism.cores import on_all_cores
from sciprism.encoders.dropout import drawn_from
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import PackedBatch, pack, token_batches

T = TypeVar("T")
R = TypeVar("R")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a pass may use. tokens: of one piece. precision: of the products. caching: keep no graphs."""

    tokens: int
    precision: str = "float32"
    caching: bool = False


class Pass:
    """One way through an encoder for the texts of a batch, and back.

    sequences: token ids of each text. routes: the way of each through the slots. seed: of all dropout.
    `vectors` is (n, dim) in the order given, or (n, K, dim) by facet; after its gradient is known, `backward`
    adds to the weights'.
    """

    def __init__(
        self,
        encoder: Encoder,
        sequences: Sequence[Sequence[int]],
        routes: Sequence[str],
        *,
        memory: Memory,
        seed: int,
        by_facet: bool = False,
    ) -> None:
        self._encoder = encoder
        self._vectors = encoder.facets if by_facet else encoder.vectors
        self._memory = memory
        self._seed = seed
        self._pieces = _pieces(sequences, routes, memory.tokens)
        self._batches = [
            pack([sequences[i] for i in piece], [routes[i] for i in piece], device=encoder.device)
            for piece in self._pieces
        ]
        self._parameters = [p for p in encoder.model.parameters() if p.requires_grad]
        self._graphs: list[Tensor] = []
        self.vectors = self._forward()

    def backward(self) -> None:
        """Add the gradient of the weights that the gradient of `vectors` causes."""
        if self.vectors.grad is None:
            return
        parts = [self.vectors.grad[piece] for piece in self._pieces]

        def gradients(number: int) -> Sequence[Tensor | None]:
            vectors = self._graphs[number] if self._graphs else self._compute(number)
            return torch.autograd.grad(vectors, self._parameters, parts[number], allow_unused=True)

        add_gradients(self._parameters, len(self._pieces), gradients, self._encoder.device)
        self._graphs = []

    def _forward(self) -> Tensor:
        keep = not self._memory.caching and bool(self._parameters)

        def work(number: int) -> Tensor:
            with torch.set_grad_enabled(keep):
                return self._compute(number)

        found = _side_by_side(work, range(len(self._pieces)), self._encoder.device)
        self._graphs = found if keep else []
        order = torch.tensor([i for piece in self._pieces for i in piece], device=self._encoder.device)
        rows = torch.cat([vectors.detach() for vectors in found])
        vectors = torch.empty_like(rows)
        vectors[order] = rows
        return vectors.requires_grad_()

    def _compute(self, number: int) -> Tensor:
        batch: PackedBatch = self._batches[number]
        device = self._encoder.device
        with autocast(self._memory, device), drawn_from(self._seed + number, device):
            return self._vectors(batch).float()


def autocast(memory: Memory, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which products have the precision that was asked for."""
    dtype = DTYPES[memory.precision]
    return torch.autocast(device.type, dtype, enabled=dtype is not torch.float32)


def add_gradients(
    parameters: Sequence[Tensor],
    pieces: int,
    gradients: Callable[[int], Sequence[Tensor | None]],
    device: torch.device,
) -> None:
    """Add the gradients of all pieces to those of the parameters; on a CPU several run side by side."""
    runs = _runs(pieces, threads(device))

    def work(run: Sequence[int]) -> list[Tensor | None]:
        total: list[Tensor | None] = [None] * len(parameters)
        for number in run:
            total = [_sum(old, new) for old, new in zip(total, gradients(number), strict=True)]
        return total

    for found in _side_by_side(work, runs, device):
        for parameter, gradient in zip(parameters, found, strict=True):
            parameter.grad = _sum(parameter.grad, gradient)


def threads(device: torch.device) -> int:
    """Return how many pieces are computed side by side."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def _side_by_side(work: Callable[[T], R], items: Sequence[T], device: torch.device) -> list[R]:
    if threads(device) > 1 and len(items) > 1:
        return on_all_cores(work, items)
    return [work(item) for item in items]


def _pieces(sequences: Sequence[Sequence[int]], routes: Sequence[str], tokens: int) -> list[list[int]]:
    """Cut texts into pieces of at most `tokens`, texts of one route and of like lengths side by side."""
    found = []
    for _, group in groupby(sorted(range(len(sequences)), key=lambda i: routes[i]), key=lambda i: routes[i]):
        members = list(group)
        found += [
            [members[i] for i in piece]
            for piece in token_batches([len(sequences[i]) for i in members], tokens)
        ]
    return found


def _runs(count: int, threads: int) -> list[range]:
    """Deal pieces out to threads: like shares, and an order of sums that does not depend on timing."""
    return [range(first, count, threads) for first in range(min(threads, count))]


def _sum(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    if old is None or new is None:
        return new if old is None else old
    return old.add_(new)

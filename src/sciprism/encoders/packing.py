"""Packed batches: texts concatenated without padding tokens, and the split of a corpus into batches."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapreplace
from itertools import accumulate, groupby

import numpy as np
import torch
from torch import Tensor

MIN_TOKENS = 256
"""Of a batch that is made smaller so that several workers have one: below that its overhead exceeds the gain."""


@dataclass(frozen=True)
class PackedBatch:
    """Concatenated token ids of several texts, with the length and the route of each text.

    ids: (T,) with T = sum(lengths). lengths: one per text, in order. routes: one name per text, equal names
    next to each other, so that each route's tokens are one slice. types: (T,) segment ids; None for all zero.
    on_host: the ids in the host's memory, if they are there. bias: of attention scores by relative position, of all
    layers; (H, L, L) where L is the length of the longest text, or more.
    """

    ids: Tensor
    lengths: tuple[int, ...]
    routes: tuple[str, ...]
    types: Tensor | None = None
    on_host: Tensor | None = None
    bias: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.routes) != len(self.lengths):
            raise ValueError(f"{len(self.lengths)} texts but {len(self.routes)} routes")
        if len(list(groupby(self.routes))) != len(set(self.routes)):
            raise ValueError(f"texts of one route must be next to each other, got {self.routes}")

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Return the start of each text, and last the total number of tokens: B + 1 numbers."""
        return (0, *accumulate(self.lengths))

    @cached_property
    def starts(self) -> Tensor:
        """Return the position of each text's first token (its CLS), (B,)."""
        return copy_integers(self.bounds[:-1], self.ids.device)

    @cached_property
    def sizes(self) -> Tensor:
        """Return the lengths as a tensor, (B,)."""
        return copy_integers(self.lengths, self.ids.device)

    def first_positions(self, count: int) -> Tensor:
        """Return the positions of each text's first tokens, (B, count); no text may be shorter."""
        return self.starts[:, None] + torch.arange(count, device=self.ids.device)

    @cached_property
    def positions(self) -> Tensor:
        """Return each token's position in its text, counted from 0, (T,)."""
        starts = torch.repeat_interleave(self.starts, self.sizes, output_size=len(self.ids))
        return torch.arange(len(self.ids), device=self.ids.device) - starts

    @cached_property
    def _angles(self) -> dict[tuple[int, float], tuple[Tensor, Tensor]]:
        return {}

    def angles(self, pairs: int, theta: float) -> tuple[Tensor, Tensor]:
        """Return cosine and sine of each position times theta^(-i / pairs), (T, 1, pairs), once for all layers."""
        if (pairs, theta) not in self._angles:
            with torch.inference_mode(False):
                rates = theta ** (-torch.arange(pairs, device=self.ids.device).float() / pairs)
                angles = (self.positions[:, None] * rates)[:, None]
                self._angles[pairs, theta] = angles.cos(), angles.sin()
        return self._angles[pairs, theta]

    @cached_property
    def by_route(self) -> tuple[tuple[str, slice, PackedBatch], ...]:
        """Return for each route its name, the slice of its tokens, and a batch of its texts."""
        parts = []
        text = 0
        for route, group in groupby(self.routes):
            end = text + len(list(group))
            tokens = slice(self.bounds[text], self.bounds[end])
            types = None if self.types is None else self.types[tokens]
            part = PackedBatch(self.ids[tokens], self.lengths[text:end], self.routes[text:end], types, bias=self.bias)
            parts.append((route, tokens, part))
            text = end
        return tuple(parts)


def pack(
    sequences: Sequence[Sequence[int]], routes: Sequence[str] | str = "all", *, device: torch.device | str = "cpu"
) -> PackedBatch:
    """Return a packed batch of token id sequences, in the order given."""
    lengths = tuple(len(sequence) for sequence in sequences)
    flat = array("q")
    for sequence in sequences:
        flat += array("q", sequence)
    names = (routes,) * len(lengths) if isinstance(routes, str) else tuple(routes)
    ids = torch.from_numpy(np.array(flat, np.int64))
    return PackedBatch(copy_tensor(ids, device), lengths, names, on_host=ids)


def copy_integers(values: Sequence[int], device: torch.device | str, dtype: torch.dtype = torch.long) -> Tensor:
    """Return whole numbers as a tensor on a device."""
    return copy_tensor(torch.from_numpy(np.array(values, np.int64)).to(dtype), device)


def copy_tensor(host: Tensor, device: torch.device | str) -> Tensor:
    """Return a tensor of the host on a device; from pinned memory, so that the host does not wait for the GPU."""
    if torch.device(device).type == "cuda":
        host = host.pin_memory()
    return host.to(device, non_blocking=True)


def token_batches(lengths: Sequence[int], budget: int, max_texts: int | None = None) -> Iterator[list[int]]:
    """Yield batches of at most `budget` tokens, longest texts first, as indices into `lengths`.

    The order is a pure function of the lengths, so equal input gives equal batches and equal bytes. A text
    longer than the budget is a batch by itself. max_texts: of a batch; None for no limit but the tokens.
    """
    batch: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (tokens + lengths[index] > budget or len(batch) == max_texts):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += lengths[index]
    if batch:
        yield batch


def even_budget(lengths: Sequence[int], budget: int, workers: int) -> int:
    """Return the budget, at most the given one, by which `token_batches` gives each worker about as many tokens.

    It is an equal share and one text more, so that no short batch is left over, and at least `MIN_TOKENS`.
    """
    longest = max(lengths, default=0)
    batches = _count_batches(lengths, max(1, budget - longest), workers)
    return min(budget, max(MIN_TOKENS, math.ceil(sum(lengths) / batches) + longest))


def balanced_batches(lengths: Sequence[int], budget: int, workers: int) -> list[list[int]]:
    """Return batches of about `budget` tokens and equal size, a multiple of `workers` in number.

    The longest remaining text goes to the batch with the fewest tokens. Returns ascending indices into
    `lengths`; the order is a pure function of the lengths.
    """
    count = _count_batches(lengths, budget, workers)
    batches: list[list[int]] = [[] for _ in range(min(count, len(lengths)))]
    tokens = [(0, number) for number in range(len(batches))]
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        size, number = tokens[0]
        batches[number].append(index)
        heapreplace(tokens, (size + lengths[index], number))
    return [sorted(batch) for batch in batches]


def _count_batches(lengths: Sequence[int], budget: int, workers: int) -> int:
    """Return how many batches of at most `budget` tokens there are at least, a multiple of `workers`."""
    return workers * max(1, math.ceil(sum(lengths) / (workers * budget)))

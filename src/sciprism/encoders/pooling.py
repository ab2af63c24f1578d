"""From hidden states to one vector per text: each function maps (T, hidden) to (B, hidden)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from sciprism.encoders.packing import PackedBatch
from sciprism.registry import Registry


class Pooling(Protocol):
    """Reduce the states of each text, (T, hidden), to one row, (B, hidden).

    places: tokens that the method keeps behind each text's first one.
    """

    def __call__(self, states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
        """Return one vector per text in the batch's order."""
        ...


poolings: Registry[Pooling] = Registry("pooling")


@poolings.register("cls")
def cls(states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
    """Take each text's first token."""
    return states[batch.starts]


@poolings.register("mean")
def mean(states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
    """Average all tokens of each text, special ones included (sentence-transformers' convention)."""
    lengths = torch.tensor(batch.lengths, device=states.device)
    return torch.segment_reduce(states, "mean", lengths=lengths, unsafe=True)


@poolings.register("last")
def last(states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
    """Take each text's last token."""
    return states[torch.tensor(batch.bounds[1:], device=states.device) - 1]


@poolings.register("code")
def code(states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
    """Take each text's second token, where a control code stands (SciRepEval)."""
    if min(batch.lengths) < 2:
        raise ValueError("a text of 1 token has no code")
    return states[batch.starts + 1]


@poolings.register("facets")
def facets(states: Tensor, batch: PackedBatch, places: int = 0) -> Tensor:
    """Add up each text's first token and the places behind it (Multi2SPE)."""
    return facet_states(states, batch, places).sum(dim=1)


def facet_states(states: Tensor, batch: PackedBatch, places: int) -> Tensor:
    """Return the states of each text's first token and of the places behind it, (B, 1 + places, hidden)."""
    return states[batch.first(places + 1)]

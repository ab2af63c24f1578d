"""Poolings: functions from hidden states, (T, hidden), to one vector per text, (B, hidden)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from sciprism.encoders.packing import PackedBatch
from sciprism.registry import Registry


class Pooling(Protocol):
    """A function that reduces the states of each text to one row.

    reserved: number of positions that the method reserves after each text's first token.
    """

    def __call__(self, states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
        """Return one vector per text, (B, hidden), in the batch's order."""


poolings: Registry[Pooling] = Registry("pooling")


@poolings.register("cls")
def cls(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's first token."""
    return states[batch.starts]


@poolings.register("mean")
def mean(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the mean of all tokens of each text, special ones included, as sentence-transformers does."""
    lengths = torch.tensor(batch.lengths, device=states.device)
    return torch.segment_reduce(states, "mean", lengths=lengths, unsafe=True)


@poolings.register("last")
def last(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's last token."""
    return states[torch.tensor(batch.bounds[1:], device=states.device) - 1]


@poolings.register("code")
def code(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's second token, the control code (SciRepEval)."""
    if min(batch.lengths) < 2:
        raise ValueError("a text of 1 token has no code")
    return states[batch.starts + 1]


@poolings.register("facets")
def facets(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the sum of the states of each text's first token and reserved positions (Multi2SPE)."""
    return facet_states(states, batch, reserved).sum(dim=1)


def facet_states(states: Tensor, batch: PackedBatch, reserved: int) -> Tensor:
    """Return the states of first token and reserved positions of each text, (B, 1 + reserved, hidden)."""
    return states[batch.first_positions(reserved + 1)]

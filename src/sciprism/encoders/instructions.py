"""Instructions as context: words that tell the model what a text is encoded for (SciMult, section 3.3).

The instruction is encoded alone, once for all texts of a batch; what enters layer n of its encoder is given
to layer n of the text's encoder as further keys and values. The text never changes the instruction's states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Self

import torch
from torch import Tensor, nn

from sciprism.encoders.packing import PackedBatch, pack
from sciprism.encoders.transformer import Context, Transformer

States = tuple[Tensor, ...]
MOST = 256
"""Instructions whose states are kept for inference."""


class Instructions(nn.Module):
    """The context slot: each text's route is its instruction, the words themselves.

    encoder: what encodes the instructions; None is the model that encodes the texts. tokens: the token ids of
    each instruction, special ones included. Gradients flow through the states. Once prepared for inference,
    they are computed once per instruction; training drops them.
    """

    def __init__(self, encoder: Transformer | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.tokens: dict[str, Sequence[int]] = {}
        self.kept: dict[str, States] | None = None

    def prepare(self, dtype: torch.dtype) -> None:  # noqa: ARG002 (states stay float32)
        """Keep states from now on, computed with the present weights."""
        self.kept = {}

    def train(self, mode: bool = True) -> Self:
        """Drop the kept states where training begins: the weights are about to change."""
        self.kept = None if mode else self.kept
        return super().train(mode)

    def forward(self, model: Transformer, batch: PackedBatch) -> list[Context]:
        """Return the context of each of the model's layers; a route without tokens is a KeyError."""
        states = {route: self._states(model, route) for route, _, _ in batch.parts}
        index, lengths = _rows(batch, {route: len(layers[0]) for route, layers in states.items()})
        return [Context(torch.cat(layer), index, lengths) for layer in zip(*states.values(), strict=True)]

    def _states(self, model: Transformer, route: str) -> States:
        kept = None if torch.is_grad_enabled() else self.kept
        if kept is None:
            return self._encode(model, route)
        found = kept.get(route)
        if found is None:
            if len(kept) >= MOST:
                kept.clear()
            found = kept[route] = self._encode(model, route)
        return found

    def _encode(self, model: Transformer, route: str) -> States:
        """Return what enters each layer, (K, hidden) for an instruction of K tokens."""
        encoder = model if self.encoder is None else self.encoder
        batch = pack([self.tokens[route]], route, device=model.embeddings.word.weight.device)
        states = [encoder.embeddings(batch)]
        for block in islice(encoder.blocks, len(model.blocks) - 1):
            states.append(block(states[-1], batch))
        return tuple(states)


def _rows(batch: PackedBatch, counts: Mapping[str, int]) -> tuple[Tensor, tuple[int, ...]]:
    """Return which rows of [states of all routes; texts] each text attends to, and how many they are.

    counts: rows of each route's states, in the order in which they are laid end to end.
    """
    device, firsts, total = batch.ids.device, {}, 0
    for route, count in counts.items():
        firsts[route] = total
        total += count
    lengths = tuple(counts[route] + length for route, length in zip(batch.routes, batch.lengths, strict=True))
    facts = zip(batch.routes, batch.bounds, lengths, strict=False)
    table = torch.tensor([(counts[r], firsts[r], total + start, n) for r, start, n in facts], device=device)
    count, first, start, length = table.T
    text = torch.repeat_interleave(length, output_size=sum(lengths))
    place = torch.arange(len(text), device=device) - (length.cumsum(0) - length)[text]
    own = place - count[text]
    return torch.where(own < 0, first[text] + place, start[text] + own), lengths

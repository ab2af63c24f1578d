"""Instructions as context: sentences that say what a text is encoded for (SciMult, section 3.3).

An instruction is encoded alone, once for all texts of a batch. The input of layer n of its encoder gives
further keys and values to layer n of the text's encoder. The text never changes the instruction's states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, islice

import torch
from torch import Tensor

from sciprism.encoders.linear import PackableModule
from sciprism.encoders.packing import PackedBatch, pack
from sciprism.encoders.transformer import Context, Transformer

States = tuple[Tensor, ...]
MAX_STORED = 256
"""Instructions whose states are stored for inference."""


class InstructionContext(PackableModule):
    """The module of the context slot; each text's route is its instruction, verbatim.

    encoder: the encoder of the instructions; None for the texts' own. tokens: the token ids of each
    instruction, special ones included. Gradients flow through the states. After `prepare`, states are
    computed once per instruction; training drops them.
    """

    packed: dict[str, States] | None = None

    def __init__(self, encoder: Transformer | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.tokens: dict[str, Sequence[int]] = {}

    def prepare(self, dtype: torch.dtype) -> None:  # noqa: ARG002 (states stay float32)
        """Store states from now on, computed with the present weights."""
        self.packed = {}

    def forward(self, model: Transformer, batch: PackedBatch) -> list[Context]:
        """Return one context per layer of the model; a route without tokens is a KeyError."""
        states = {route: self._states(model, route) for route, _, _ in batch.by_route}
        index, lengths = _rows(batch, {route: len(layers[0]) for route, layers in states.items()})
        return [Context(torch.cat(layer), index, lengths) for layer in zip(*states.values(), strict=True)]

    def _states(self, model: Transformer, route: str) -> States:
        if self.packed is None or torch.is_grad_enabled():
            return self._encode(model, route)
        if route not in self.packed:
            if len(self.packed) >= MAX_STORED:
                self.packed.clear()
            self.packed[route] = self._encode(model, route)
        return self.packed[route]

    def _encode(self, model: Transformer, route: str) -> States:
        """Return the input of each layer, (K, hidden) for an instruction of K tokens."""
        encoder = model if self.encoder is None else self.encoder
        batch = pack([self.tokens[route]], route, device=model.embeddings.word.weight.device)
        states = [encoder.embeddings(batch)]
        for block in islice(encoder.blocks, len(model.blocks) - 1):
            states.append(block(states[-1], batch))
        return tuple(states)


def _rows(batch: PackedBatch, counts: Mapping[str, int]) -> tuple[Tensor, tuple[int, ...]]:
    """Return which rows of [states of all routes; texts] each text attends to, and their number per text.

    counts: rows of each route's states, in the order in which they are concatenated.
    """
    device = batch.ids.device
    *starts, total = accumulate(counts.values(), initial=0)
    firsts = dict(zip(counts, starts, strict=True))
    lengths = tuple(counts[route] + length for route, length in zip(batch.routes, batch.lengths, strict=True))
    facts = zip(batch.routes, batch.bounds, lengths, strict=False)
    table = torch.tensor([(counts[r], firsts[r], total + start, n) for r, start, n in facts], device=device)
    count, first, start, length = table.T
    text = torch.repeat_interleave(length, output_size=sum(lengths))
    position = torch.arange(len(text), device=device) - (length.cumsum(0) - length)[text]
    text_position = position - count[text]
    return torch.where(text_position < 0, first[text] + position, start[text] + text_position), lengths

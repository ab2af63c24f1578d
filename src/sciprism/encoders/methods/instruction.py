"""`instruction`: a sentence per format, encoded by the same model (SciMult, section 3.3).

An instruction is encoded alone, once for all texts of a batch. The input of layer n of its encoder gives
further keys and values to layer n of the text's encoder. The text never changes the instruction's states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, islice
from typing import Annotated, Self

import torch
from pydantic import Field, StringConstraints, ValidationInfo, field_validator
from torch import Tensor, nn

from sciprism.encoders.layers import PackableModule, PackedBatch, pack
from sciprism.encoders.methods.registry import FormatOptions, Method, expert_format, methods
from sciprism.encoders.transformer import Context, Transformer
from sciprism.errors import InputError
from sciprism.formats import Format, Role

States = tuple[Tensor, ...]
MAX_STORED = 256  # instructions whose states are stored for inference
SCIMULT_INSTRUCTIONS: dict[Format, str] = {
    "classification": "Tag a scientific paper with relevant scientific topic classes.",
    "proximity": "Find a pair of scientific papers that one paper cites the other.",
    "search": "Retrieve a scientific paper that is relevant to the query.",
}


class InstructionContext(PackableModule[dict[str, States]]):
    """The module of the context slot; each text's route is its instruction, verbatim.

    encoder: the encoder of the instructions; None for the texts' own. tokens: the token ids of each
    instruction, special ones included. Gradients flow through the states. After `prepare`, states are
    computed once per instruction; training drops them.
    """

    def __init__(self, encoder: Transformer | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.tokens: dict[str, Sequence[int]] = {}

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> dict[str, States]:
        """Return the states of each instruction with the present weights: none as yet."""
        return {}

    def forward(self, model: Transformer, batch: PackedBatch) -> list[Context]:
        """Return one context per layer of the model; a route without tokens is a KeyError."""
        states = {route: self._states(model, route) for route, _, _ in batch.by_route}
        index, lengths = _rows(batch, {route: len(layers[0]) for route, layers in states.items()})
        return [Context(torch.cat(layer), index, lengths) for layer in zip(*states.values(), strict=True)]

    def _states(self, model: Transformer, route: str) -> States:
        packed = self.packed(model) if self.encoder is None else self.packed()
        if packed is None:
            return self._encode(model, route)
        if route not in packed:
            if len(packed) >= MAX_STORED:
                packed.clear()
            packed[route] = self._encode(model, route)
        return packed[route]

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


class InstructionOptions(FormatOptions):
    """Options. instructions: format -> sentence, by default SciMult's; `regression` uses that of classification."""

    instructions: Mapping[Format, Annotated[str, StringConstraints(pattern=r"\S")]] | None = Field(
        None, validate_default=True
    )

    @field_validator("instructions")
    @classmethod
    def _complete(cls, stated: Mapping[Format, str] | None, info: ValidationInfo) -> Mapping[Format, str]:
        formats, words = info.data.get("formats", ()), SCIMULT_INSTRUCTIONS | dict(stated or {})
        if unserved := set(stated or ()) - set(formats):
            raise ValueError(f"{', '.join(sorted(unserved))} is not among the formats, {', '.join(formats)}")
        return {f: words[f] if f in words else words[expert_format(f)] for f in formats}


@methods.register("instruction")
class InstructionMethod(Method):
    """Each format has an instruction, whose states are every layer's context; one model encodes both.

    A text's route and space are its instruction, so formats with equal instructions share vectors.
    """

    settings = InstructionOptions

    def fill(self, model: Transformer) -> None:
        """Fill the context slot with the instructions' states."""
        model.context = InstructionContext()

    def route(self, format: Format, role: Role) -> str:
        """Return the instruction of the format."""
        return str(self.options.instructions[format])

    def add_route(self, model: Transformer, route: str, tokenize: Callable[[str], list[int]]) -> None:
        """Tokenize the instruction; one that is longer than the model's texts is an InputError."""
        context = model.context
        assert isinstance(context, InstructionContext)
        if route not in context.tokens:
            ids, most = tokenize(route), model.config.max_length
            if len(ids) > most:
                raise InputError(f"an instruction of {len(ids)} tokens; the model has positions for {most}")
            context.tokens[route] = ids

    def with_instruction(self, instruction: str) -> Self:
        """Return this method with this instruction for all its formats."""
        options = {"instructions": dict.fromkeys(self.formats, instruction), "formats": self.formats}
        return type(self)(self.settings.from_table(options, "instruction"))

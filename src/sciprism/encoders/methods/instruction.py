"""`instruction`: words that say what a text is encoded for, read by the same model (SciMult, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from sciprism.encoders.instructions import Instructions
from sciprism.encoders.methods.registry import Method, methods, served, stand_in
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role

SCIMULT: dict[Format, str] = {
    "classification": "Tag a scientific paper with relevant scientific topic classes.",
    "proximity": "Find a pair of scientific papers that one paper cites the other.",
    "search": "Retrieve a scientific paper that is relevant to the query.",
}


@methods.register("instruction")
class Instruction(Method):
    """Each format has an instruction; its states are every layer's context, and one model encodes both.

    instructions: format -> words, SciMult's where none are stated; `regression` takes those of
    classification. formats: which formats are served. A text's route and space are its instruction, so
    formats with equal instructions share their vectors.
    """

    def __init__(
        self, *, instructions: Mapping[Format, str] | None = None, formats: Sequence[Format] = FORMATS
    ) -> None:
        self.formats = served(formats)
        given = {} if instructions is None else instructions
        if not isinstance(given, Mapping) or not set(given) <= set(self.formats):
            raise InputError(f"instructions are {given!r}; state words for some of {', '.join(self.formats)}")
        for text in given.values():
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"an instruction is {text!r}, not words")
        words = SCIMULT | dict(given)
        self.instructions = {f: words[f] if f in words else words[stand_in(f)] for f in self.formats}

    def fill(self, model: Transformer) -> None:
        """Give every layer the instruction's states."""
        model.context = Instructions()

    def route(self, format: Format, role: Role) -> str:
        """Return the instruction of the format."""
        return self.instructions[format]

    def instruct(self, instruction: str) -> Self:
        """Return this method with one instruction for all its formats."""
        return type(self)(instructions=dict.fromkeys(self.formats, instruction), formats=self.formats)

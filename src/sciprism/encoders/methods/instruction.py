"""`instruction`: a sentence per format, encoded by the same model (SciMult, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from sciprism.encoders.instructions import InstructionContext
from sciprism.encoders.methods.registry import Method, check_formats, expert_format, methods
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role

SCIMULT_INSTRUCTIONS: dict[Format, str] = {
    "classification": "Tag a scientific paper with relevant scientific topic classes.",
    "proximity": "Find a pair of scientific papers that one paper cites the other.",
    "search": "Retrieve a scientific paper that is relevant to the query.",
}


@methods.register("instruction")
class InstructionMethod(Method):
    """Each format has an instruction, whose states are every layer's context; one model encodes both.

    instructions: format -> sentence, by default SciMult's; `regression` uses that of classification. formats:
    those that are served. A text's route and space are its instruction, so formats with equal instructions
    share vectors.
    """

    def __init__(
        self, *, instructions: Mapping[Format, str] | None = None, formats: Sequence[Format] = FORMATS
    ) -> None:
        self.formats = check_formats(formats)
        stated = {} if instructions is None else instructions
        if not isinstance(stated, Mapping) or not set(stated) <= set(self.formats):
            raise InputError(f"instructions are {stated!r}; give a sentence for some of {', '.join(self.formats)}")
        for text in stated.values():
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"an instruction is {text!r}, not a sentence")
        words = SCIMULT_INSTRUCTIONS | dict(stated)
        self.instructions = {f: words[f] if f in words else words[expert_format(f)] for f in self.formats}

    def fill(self, model: Transformer) -> None:
        """Fill the context slot with the instructions' states."""
        model.context = InstructionContext()

    def route(self, format: Format, role: Role) -> str:
        """Return the instruction of the format."""
        return self.instructions[format]

    def with_instruction(self, instruction: str) -> Self:
        """Return this method with this instruction for all its formats."""
        return type(self)(instructions=dict.fromkeys(self.formats, instruction), formats=self.formats)

"""An encoder with another instruction than its own; its vectors have paths of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from inspect import signature
from typing import Any, Protocol, cast

from sciprism.arrays import Floats
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError
from sciprism.evaluation.systems.dense import display_name
from sciprism.formats import Format, Role
from sciprism.reproduce.table import AlternativeInstruction
from sciprism.text.template import FIELDS, Item


class InstructableEncoder(EncoderProtocol, Protocol):
    """An encoder that takes an instruction: a text that says what its vectors are for."""

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format,
        role: Role,
        fields: Sequence[str],
        instruction: str | None = None,
    ) -> Floats:
        """Return vectors for an instruction; None: the format's own."""
        ...


class InstructedEncoder:
    """An encoder with one instruction for every format and role; InputError if it takes none."""

    def __init__(self, encoder: EncoderProtocol, instruction: AlternativeInstruction) -> None:
        if "instruction" not in signature(encoder.encode).parameters:
            raise InputError(f"{encoder.name} takes no instructions; name a model of the method instruction")
        self.encoder = cast(InstructableEncoder, encoder)
        self.instruction = instruction
        self.encode([])  # a method without instructions raises InputError here
        self.name = f"{display_name(encoder)} ({instruction.key} instruction)"
        self.distance, self.dim, self.texts = encoder.distance, encoder.dim, encoder.texts

    @property
    def fingerprint(self) -> str:
        """Return a hash of the model's fingerprint and the instruction."""
        return hashlib.sha256(f"{self.encoder.fingerprint} {self.instruction.text}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return the model's description, with the instruction."""
        return dict(self.encoder.describe()) | {
            "instruction": self.instruction.text,
            "fingerprint": self.fingerprint,
        }

    def space(self, format: Format, role: Role) -> str:
        """Return the space, which depends on the instruction."""
        return f"{self.encoder.space(format, role)}|{self.instruction.text}"

    def path(self, format: Format, role: Role) -> str:
        """Return the path, which depends on the instruction."""
        return f"{self.encoder.path(format, role)}|{self.instruction.text}"

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one row per item, encoded with the instruction."""
        return self.encoder.encode(items, format=format, role=role, fields=fields, instruction=self.instruction.text)

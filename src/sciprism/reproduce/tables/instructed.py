"""A model with another instruction than its own: an encoder's face, its vectors on paths of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from inspect import signature
from typing import Any, Protocol, cast

from sciprism.arrays import Floats
from sciprism.encoders.face import Encodes
from sciprism.errors import InputError
from sciprism.evaluation.systems.dense import shown
from sciprism.formats import Format, Role
from sciprism.reproduce.tables.declared import Instruction
from sciprism.text.template import FIELDS, Item


class Instructable(Encodes, Protocol):
    """An encoder that can be told in words what its vectors are for."""

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format,
        role: Role,
        fields: Sequence[str],
        instruction: str | None = None,
    ) -> Floats:
        """Return vectors made under an instruction; None: the format's own."""
        ...


class Instructed:
    """An encoder that is given one instruction for every format and role.

    Raises InputError for an encoder that takes none.
    """

    def __init__(self, encoder: Encodes, instruction: Instruction) -> None:
        if "instruction" not in signature(encoder.encode).parameters:
            raise InputError(f"{encoder.name} takes no instructions; name a model of the method instruction")
        self.encoder = cast(Instructable, encoder)
        self.instruction = instruction
        self.encode([])  # a method that takes no instructions says so here, before anything runs
        self.name = f"{shown(encoder)} ({instruction.key} instruction)"

    @property
    def fingerprint(self) -> str:
        """Return a hash of the model's own and of the instruction."""
        return hashlib.sha256(f"{self.encoder.fingerprint} {self.instruction.text}".encode()).hexdigest()[:16]

    @property
    def distance(self) -> str:
        """Return the model's."""
        return self.encoder.distance

    @property
    def dim(self) -> int:
        """Return the model's."""
        return self.encoder.dim

    def describe(self) -> dict[str, Any]:
        """Return what the model says of itself, and the instruction."""
        return dict(self.encoder.describe()) | {
            "instruction": self.instruction.text,
            "fingerprint": self.fingerprint,
        }

    def space(self, format: Format, role: Role) -> str:
        """Name a space apart from those of other instructions."""
        return f"{self.encoder.space(format, role)}|{self.instruction.text}"

    def path(self, format: Format, role: Role) -> str:
        """Name a path apart from those of other instructions."""
        return f"{self.encoder.path(format, role)}|{self.instruction.text}"

    def texts(self, items: Sequence[Item], role: Role, fields: Sequence[str]) -> list[str]:
        """Return the very texts that are encoded."""
        return self.encoder.texts(items, role, fields)

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one row per item, made under the instruction."""
        return self.encoder.encode(
            items, format=format, role=role, fields=fields, instruction=self.instruction.text
        )

"""What every encoder offers: ours, those of other libraries, ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sciprism.arrays import Floats
from sciprism.formats import Format, Role
from sciprism.text.template import Item


class EncoderProtocol(Protocol):
    """An encoder that can be evaluated: `Encoder`, or an adapter of another library."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of weights, method, pooling and template."""

    @property
    def distance(self) -> str:
        """Return the distance by which its vectors are compared."""

    @property
    def dim(self) -> int:
        """Return the width of its vectors."""

    def describe(self) -> dict[str, Any]:
        """Return the description that results state."""

    def space(self, format: Format, role: Role) -> str:
        """Name the space of the vectors of a format and a role."""

    def path(self, format: Format, role: Role) -> str:
        """Name the encoding path from text to vector."""

    def texts(self, items: Sequence[Item], role: Role, fields: Sequence[str]) -> list[str]:
        """Return the texts that are encoded for these items."""

    def encode(self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str]) -> Floats:
        """Return one row per item."""


class FormatEncoderProtocol(EncoderProtocol, Protocol):
    """An encoder that states its formats."""

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats that it serves."""

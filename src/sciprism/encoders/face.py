"""What every encoder can do, ours or another library's, alone or several as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sciprism.arrays import Floats
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item


class Encodes(Protocol):
    """What an encoder must be able to do to be scored; `Encoder` and those of other libraries are some."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of weights, method, pooling and template."""
        ...

    @property
    def distance(self) -> str:
        """Return how its vectors are meant to be compared."""
        ...

    @property
    def dim(self) -> int:
        """Return the width of its vectors."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what a result must say of it."""
        ...

    def space(self, format: Format, role: Role) -> str:
        """Name the space of such vectors."""
        ...

    def path(self, format: Format, role: Role) -> str:
        """Name the way from text to vector."""
        ...

    def texts(self, items: Sequence[Item], role: Role, fields: Sequence[str]) -> list[str]:
        """Return the very texts that are encoded."""
        ...

    def encode(self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str]) -> Floats:
        """Return one row per item."""
        ...


class Serves(Encodes, Protocol):
    """An encoder that says which formats it serves."""

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats that it serves."""
        ...


def encode_all(
    encoder: Serves, items: Sequence[Item], role: Role, formats: Sequence[Format] | None = None
) -> dict[Format, Floats]:
    """Return one array per format; formats that share a path are encoded once and share the array.

    formats: those that are wanted, None for all.
    """
    by_path: dict[str, Floats] = {}
    found: dict[Format, Floats] = {}
    for format in encoder.formats if formats is None else formats:
        path = encoder.path(format, role)
        if path not in by_path:
            by_path[path] = encoder.encode(items, format=format, role=role, fields=FIELDS)
        found[format] = by_path[path]
    return found

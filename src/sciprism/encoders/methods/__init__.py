"""How an encoder serves several formats: one file per method, filling slots of the transformer."""

from __future__ import annotations

from typing import Literal, Protocol

from sciprism.encoders.transformer import Transformer
from sciprism.registry import Registry

Format = Literal["classification", "regression", "proximity", "search"]
Role = Literal["paper", "query", "label"]

FORMATS: tuple[Format, ...] = ("classification", "regression", "proximity", "search")
ROLES: tuple[Role, ...] = ("paper", "query", "label")


class Method(Protocol):
    """What a method decides: which slots it fills, which way a text takes, which vectors compare."""

    formats: tuple[Format, ...]

    def fill(self, model: Transformer) -> None:
        """Put the method's modules into the transformer's slots."""
        ...

    def route(self, format: Format, role: Role) -> str:
        """Name the way through the routed slots; equal routes give equal vectors."""
        ...

    def space(self, format: Format, role: Role) -> str:
        """Name the space of the vectors; only vectors of one space compare."""
        ...


methods: Registry[type[Method]] = Registry("method")

from sciprism.encoders.methods import single  # noqa: E402, F401

"""`single`: one set of weights and one vector per text, whatever it is for."""

from __future__ import annotations

from sciprism.encoders.methods import FORMATS, Format, Role, methods
from sciprism.encoders.transformer import Transformer


@methods.register("single")
class Single:
    """Fill no slot: every format and role takes the same way into the same space."""

    formats = FORMATS

    def fill(self, model: Transformer) -> None:
        """Leave the transformer as it is."""

    def route(self, format: Format, role: Role) -> str:
        """Return the one route."""
        return "all"

    def space(self, format: Format, role: Role) -> str:
        """Return the one space."""
        return "all"

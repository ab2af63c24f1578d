"""`single`: one set of weights and one vector per text, whatever its format."""

from __future__ import annotations

from sciprism.encoders.methods.registry import PLAIN, Method, methods


@methods.register(PLAIN)
class Single(Method):
    """Fill no slot: every format and role has the same route and space."""

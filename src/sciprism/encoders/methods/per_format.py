"""What SciRepEval's methods share: a way for each format, and a fourth for the query of a search."""

from __future__ import annotations

from collections.abc import Sequence

from sciprism.encoders.methods.registry import Method, served
from sciprism.formats import FORMATS, Format, Role


class PerFormat(Method):
    """One way for each format; what a search finds goes the way of proximity (SciRepEval, section 4).

    formats: which are served. A query and the papers that it finds share the space of proximity.
    """

    def __init__(self, *, formats: Sequence[Format] = FORMATS) -> None:
        self.formats = served(formats)

    @property
    def ways(self) -> tuple[Format, ...]:
        """Return all routes, in the order of the formats."""
        ways = [self.route(format, role) for format in self.formats for role in ("query", "paper")]
        return tuple(way for way in FORMATS if way in ways)

    def route(self, format: Format, role: Role) -> str:
        """Return the format's name, that of proximity for what a search finds."""
        return "proximity" if format == "search" and role != "query" else format

    def space(self, format: Format, role: Role) -> str:
        """Return the format's name; search and proximity share a space."""
        return "proximity" if format == "search" else format

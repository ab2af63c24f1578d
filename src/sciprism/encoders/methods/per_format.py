"""The base of SciRepEval's methods: one route per format; `search` is the route of queries."""

from __future__ import annotations

from collections.abc import Sequence

from sciprism.encoders.methods.registry import Method, check_formats
from sciprism.formats import FORMATS, Format, Role


class PerFormat(Method):
    """One route per format; the candidates of a search take the route of proximity (SciRepEval, section 4).

    formats: those that are served. A query and its candidates share the space of proximity.
    """

    def __init__(self, *, formats: Sequence[Format] = FORMATS) -> None:
        self.formats = check_formats(formats)

    @property
    def routes(self) -> tuple[Format, ...]:
        """Return all routes, in the order of the formats."""
        routes = [self.route(format, role) for format in self.formats for role in ("query", "paper")]
        return tuple(route for route in FORMATS if route in routes)

    def route(self, format: Format, role: Role) -> str:
        """Return the format's name; proximity for the candidates of a search."""
        return "proximity" if format == "search" and role != "query" else format

    def space(self, format: Format, role: Role) -> str:
        """Return the format's name; search and proximity share a space."""
        return "proximity" if format == "search" else format

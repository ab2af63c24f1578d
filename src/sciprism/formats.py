"""Formats: what a vector is for. Roles: what a text is."""

from typing import Literal

Format = Literal["classification", "regression", "proximity", "search"]
Role = Literal["paper", "query", "label"]

FORMATS: tuple[Format, ...] = ("classification", "regression", "proximity", "search")
ROLES: tuple[Role, ...] = ("paper", "query", "label")


def choose_route(format: Format, role: Role) -> Format:
    """Return the format whose modules serve a text: proximity for the candidates of a search."""
    return "proximity" if format == "search" and role != "query" else format


def choose_space(format: Format) -> Format:
    """Return the name of the space of a format's vectors: queries of a search share that of proximity."""
    return "proximity" if format == "search" else format

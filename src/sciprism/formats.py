"""Formats: what a vector is for. Roles: what a text is."""

from typing import Literal

Format = Literal["classification", "regression", "proximity", "search"]
Role = Literal["paper", "query", "label"]

FORMATS: tuple[Format, ...] = ("classification", "regression", "proximity", "search")
ROLES: tuple[Role, ...] = ("paper", "query", "label")
SPACES: dict[Format, Format] = {format: format for format in FORMATS} | {"search": "proximity"}
"""Format -> the space of its vectors: queries of a search share that of proximity, and its papers the modules."""

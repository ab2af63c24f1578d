"""Formats: what a vector is for. Roles: what a text is."""

from typing import Literal

Format = Literal["classification", "regression", "proximity", "search"]
Role = Literal["paper", "query", "label"]

FORMATS: tuple[Format, ...] = ("classification", "regression", "proximity", "search")
ROLES: tuple[Role, ...] = ("paper", "query", "label")

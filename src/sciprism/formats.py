"""What a vector is for (format), and what a text is when it is encoded (role)."""

from typing import Literal

Format = Literal["classification", "regression", "proximity", "search"]
Role = Literal["paper", "query", "label"]

FORMATS: tuple[Format, ...] = ("classification", "regression", "proximity", "search")
ROLES: tuple[Role, ...] = ("paper", "query", "label")

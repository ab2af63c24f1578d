"""Base of a recipe's tables: unknown keys are refused, and values of the wrong type are not converted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.errors import InputError

Precision = Literal["float32", "bfloat16", "float16"]


class RecipeTable(BaseModel):
    """A table of a recipe; immutable.

    A key is explained by its `Field(description=...)` alone, of which `make reference` makes the tables of
    docs/training.md.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """Return the settings in a table of TOML values. ValidationError, also for true or "2" in place of a number."""
        return cls.model_validate_json(json.dumps(table, default=str), strict=True)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], what: str) -> Self:
        """Return the settings in a table; InputError names what is wrong and the known keys."""
        try:
            return cls.parse(table)
        except ValidationError as error:
            lines = []
            for details in error.errors():
                unknown = details["type"] == "extra_forbidden"
                message = cls.describe_unknown_key(str(details["loc"][-1])) if unknown else details["msg"]
                lines.append(f"{'.'.join(map(str, details['loc']))}: {message}")
            raise InputError(f"{what}: {'; '.join(lines)}; known: {', '.join(cls.model_fields)}") from error

    @classmethod
    def describe_unknown_key(cls, key: str) -> str:
        """Return what is wrong with a key that the table lacks, and the meaning of a similar one."""
        close = get_close_matches(key, cls.model_fields, n=1, cutoff=0.5)
        hints = [f"; did you mean {name!r} ({cls.model_fields[name].description})?" for name in close]
        return f"unknown key{''.join(hints)}"


class NamedTable(RecipeTable):
    """Settings of one entry of a registry, selected by its name."""

    name: str

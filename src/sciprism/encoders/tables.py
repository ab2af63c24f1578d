"""Tables of settings, in a recipe or a model's folder: unknown keys and values of a wrong type are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.errors import InputError

Precision = Literal["float32", "bfloat16", "float16"]


class SettingsTable(BaseModel):
    """A table of settings; immutable.

    A key of a recipe is explained by its `Field(description=...)` alone, of which `make reference` makes the tables
    of docs/training.md.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def parse(cls, table: object) -> Self:
        """Return the settings in a table of TOML values. ValidationError, also for true or "2" in place of a number."""
        return cls.model_validate_json(json.dumps(table, default=str), strict=True)

    @classmethod
    def from_table(cls, table: object, what: str) -> Self:
        """Return the settings in a table; InputError names what is wrong and the known keys."""
        try:
            return cls.parse(table)
        except ValidationError as error:
            wrong = [": ".join(filter(None, (".".join(map(str, e["loc"])), cls.describe(e)))) for e in error.errors()]
            raise InputError(f"{what}: {'; '.join(wrong)}; known: {', '.join(cls.model_fields) or 'none'}") from error

    @classmethod
    def describe(cls, error: Mapping[str, Any]) -> str:
        """Return what is wrong, by one error of pydantic; of an unknown key, the meaning of a similar one too."""
        if error["type"] == "extra_forbidden":
            close = get_close_matches(str(error["loc"][-1]), cls.model_fields, n=1, cutoff=0.5)
            meanings = {name: f" ({text})" if (text := cls.model_fields[name].description) else "" for name in close}
            hints = [f"; did you mean {name!r}{meaning}?" for name, meaning in meanings.items()]
            return f"unknown key{''.join(hints)}"
        value = "" if isinstance(error["input"], dict) else f", got {error['input']!r:.60}"
        return str(error["msg"]).removeprefix("Value error, ") + value


class NamedTable(SettingsTable):
    """Settings of one entry of a registry, selected by its name."""

    name: str

"""Base of a recipe's tables: unknown keys are refused, and values of the wrong type are not converted."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from sciprism.errors import InputError

Precision = Literal["float32", "bfloat16", "float16"]


class RecipeTable(BaseModel):
    """A table of a recipe; immutable.

    A key is explained by its `Field(description=...)` alone, of which `make reference` makes the tables of
    docs/training.md.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _check_type(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what pydantic would convert: true into 1, "no" into false, "2" into 2."""
        types = _types_in(cls.model_fields[str(info.field_name)].annotation)
        if isinstance(value, bool):
            fits, wanted = bool in types, "not true or false"
        elif isinstance(value, str):
            fits, wanted = bool({str, Path} & types), "true or false" if bool in types else "a number"
        else:
            fits, wanted = not isinstance(value, int | float) or bool({int, float} & types), "true or false"
        if not fits and {bool, int, float} & types:
            raise ValueError(f"{value!r} should be {wanted}")
        return value

    @classmethod
    def from_table(cls, table: Mapping[str, Any], what: str) -> Self:
        """Return the settings in a table; InputError names what is wrong and the known keys."""
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            lines = []
            for each in error.errors():
                unknown = each["type"] == "extra_forbidden"
                message = cls.describe_unknown_key(str(each["loc"][-1])) if unknown else each["msg"]
                lines.append(f"{'.'.join(map(str, each['loc']))}: {message}")
            raise InputError(f"{what}: {'; '.join(lines)}; known: {', '.join(cls.model_fields)}") from error

    @classmethod
    def describe_unknown_key(cls, key: str) -> str:
        """Return what is wrong with a key that the table lacks, and the meaning of a similar one."""
        close = get_close_matches(key, cls.model_fields, n=1, cutoff=0.5)
        hints = [f"; did you mean {each!r} ({cls.model_fields[each].description})?" for each in close]
        return f"unknown key{''.join(hints)}"


def _types_in(annotation: Any) -> set[Any]:
    """Return the types in an annotation; literals are strings."""
    if get_origin(annotation) is Literal:
        return {str}
    inner = get_args(annotation)
    return {annotation} if not inner else set().union(*map(_types_in, inner))


class NamedTable(RecipeTable):
    """Settings of one entry of a registry, selected by its name."""

    name: str

"""Tables of a recipe: unknown keys are refused, and so is a text or a switch where a number is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from sciprism.errors import InputError

Precision = Literal["float32", "bfloat16", "float16"]


class Part(BaseModel):
    """A table of a recipe; values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _of_its_kind(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what pydantic would turn into another kind: true into 1, "no" into false, "2" into 2."""
        kinds = _kinds(cls.model_fields[str(info.field_name)].annotation)
        if isinstance(value, bool):
            fits, wanted = bool in kinds, "not true or false"
        elif isinstance(value, str):
            fits, wanted = bool({str, Path} & kinds), "true or false" if bool in kinds else "a number"
        else:
            fits, wanted = not isinstance(value, int | float) or bool({int, float} & kinds), "true or false"
        if not fits and {bool, int, float} & kinds:
            raise ValueError(f"{value!r} should be {wanted}")
        return value


def _kinds(annotation: Any) -> set[Any]:
    """Return the types that an annotation is made of; names to choose from are texts."""
    if get_origin(annotation) is Literal:
        return {str}
    inner = get_args(annotation)
    return {annotation} if not inner else set().union(*map(_kinds, inner))


class Table(Part):
    """Settings of one kind of thing, chosen by name."""

    name: str


T = TypeVar("T", bound=Table)


def checked(kind: type[T], table: Mapping[str, Any], what: str) -> T:
    """Check a table against its kind; InputError names what is wrong and the known keys."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InputError(f"{what}: {wrong}; known: {', '.join(kind.model_fields)}") from error

"""A table of a recipe whose kind is chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.errors import InputError


class Table(BaseModel):
    """Settings of one kind of thing, as a recipe states them; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str


T = TypeVar("T", bound=Table)


def checked(kind: type[T], table: Mapping[str, Any], what: str) -> T:
    """Check a table against its kind; InputError names what is wrong and the known keys."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InputError(f"{what}: {wrong}; known: {', '.join(kind.model_fields)}") from error

"""What turns a transformer into an encoder: method, pooling, template, length, distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sciprism.encoders.methods.registry import make, options_of
from sciprism.encoders.pooling import poolings
from sciprism.errors import InputError
from sciprism.text.template import Template

DISTANCES = ("cosine", "dot", "euclidean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything besides weights and vocabulary that decides an encoder's vectors.

    max_length: tokens per text, special ones included; longer texts are cut. normalize: vectors are
    scaled to length 1. distance: how the vectors are meant to be compared. options: the method's keywords;
    those that are not stated are filled in, so that saved settings say all.
    """

    pooling: str
    max_length: int
    method: str = "single"
    options: Mapping[str, Any] = field(default_factory=dict)
    template: Template = field(default_factory=Template)
    normalize: bool = False
    distance: str = "cosine"

    def __post_init__(self) -> None:
        method = make(self.method, self.options)
        object.__setattr__(self, "options", options_of(method))
        poolings[self.pooling]
        if self.pooling == "code" and not method.places:
            raise InputError(f"pooling code needs a place for a code, which {self.method} has not")
        if self.distance not in DISTANCES:
            raise InputError(f"unknown distance {self.distance!r}; known: {', '.join(DISTANCES)}")
        if not isinstance(self.max_length, int) or self.max_length < 3:
            raise InputError(f"a maximum length of {self.max_length} tokens leaves no room for text")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values; a method without options has no such key."""
        row = asdict(self)
        if not self.options:
            del row["options"]
        return row

    @classmethod
    def from_json(cls, row: dict[str, Any], where: str) -> Settings:
        """Build settings from what `to_json` wrote; an unknown or missing key is an InputError."""
        try:
            values = dict(row)
            return cls(template=Template(**values.pop("template", {})), **values)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: {error}") from error

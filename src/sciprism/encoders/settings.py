"""The settings that turn a transformer into an encoder: method, pooling, template, length, distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sciprism.encoders.methods.registry import PLAIN, build_method, method_options
from sciprism.encoders.pooling import poolings
from sciprism.errors import InputError
from sciprism.text.template import Template

DISTANCES = ("cosine", "dot", "euclidean")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """All that decides an encoder's vectors, except weights and vocabulary.

    max_length: tokens per text, special ones included; longer texts are truncated. normalize: scale vectors
    to length 1. distance: how the vectors are meant to be compared. options: the method's keywords; defaults
    are filled in, so that saved settings are complete.
    """

    pooling: str
    max_length: int
    method: str = PLAIN
    options: Mapping[str, Any] = field(default_factory=dict)
    template: Template = field(default_factory=Template)
    normalize: bool = False
    distance: str = "cosine"

    def __post_init__(self) -> None:
        method = build_method(self.method, self.options)
        object.__setattr__(self, "options", method_options(method))
        poolings[self.pooling]
        if self.pooling == "code" and not method.reserved_positions:
            raise InputError(f"pooling code needs a control code, which the method {self.method} does not have")
        if self.distance not in DISTANCES:
            raise InputError(f"unknown distance {self.distance!r}; known: {', '.join(DISTANCES)}")
        if not isinstance(self.max_length, int) or self.max_length < 3:
            raise InputError(f"a maximum length of {self.max_length} tokens leaves no room for text")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, without the key `options` for a method that has none."""
        return {key: value for key, value in asdict(self).items() if key != "options" or value}

    @classmethod
    def from_json(cls, row: dict[str, Any], where: str) -> EncoderSettings:
        """Build settings from what `to_json` wrote; an unknown or missing key is an InputError."""
        try:
            values = dict(row)
            return cls(template=Template(**values.pop("template", {})), **values)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: {error}") from error

"""How an encoder serves several formats: one file per method, filling slots of the transformer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role
from sciprism.registry import Registry


class Method:
    """What a method decides: which slots it fills, which way a text takes, what is trained.

    Its options are the keywords of its constructor, JSON values, each kept as the attribute of that name.
    Methods override what differs from one set of weights and one vector per text. pooling: that of the
    method, "" for the backbone's own. places: tokens kept free behind each text's first one. facets: how
    many a vector is the sum of. grows_from: the method whose models it starts from; a backbone is `single`.
    apart: whether what is the method's own changes nothing of the text's states.
    """

    formats: tuple[Format, ...] = FORMATS
    pooling: str = ""
    places: int = 0
    facets: int = 0
    grows_from: str = "single"
    apart: bool = False

    def fill(self, model: Transformer) -> None:
        """Put the method's modules into the transformer's slots, as copies of what the transformer has."""

    def begin(self, model: Transformer, first: int) -> None:
        """Set what a new model takes from its backbone's weights. first: the token that texts begin with."""

    def route(self, format: Format, role: Role) -> str:
        """Name the way through the model; equal routes give equal vectors."""
        return "all"

    def space(self, format: Format, role: Role) -> str:
        """Name the space of the vectors; only vectors of one space compare."""
        return self.route(format, role)

    def own(self, name: str) -> bool:
        """Say whether the model's parameter of this name is the method's, not the backbone's."""
        return False

    def trainable(self, name: str) -> bool:
        """Say whether the model's parameter of this name may be trained at all."""
        return True

    def instruct(self, instruction: str) -> Method:
        """Return this method with another instruction for all its formats."""
        raise InputError("only the methods instruction and prefix take an instruction")


methods: Registry[type[Method]] = Registry("method")


def make(name: str, options: Mapping[str, Any]) -> Method:
    """Build a method; an unknown option or a wrong value is an InputError."""
    kind = methods[name]
    if not isinstance(options, Mapping):
        raise InputError(f"the options of a method are names and values, got {options!r}")
    known = signature(kind).parameters
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}; it has {', '.join(known) or 'none'}")
    return kind(**options)


def options_of(method: Method) -> dict[str, Any]:
    """Return all options of a method as JSON values, those that were not stated too."""
    values = {name: getattr(method, name) for name in signature(type(method)).parameters}
    options: dict[str, Any] = json.loads(json.dumps(values))
    return options


def stand_in(format: Format) -> Format:
    """Return whose expert or instruction serves a format in SciMult, which knows three of the four.

    `regression` takes what `classification` has: both ask for properties of one paper.
    """
    return "classification" if format == "regression" else format


def served(formats: Sequence[str]) -> tuple[Format, ...]:
    """Check the option `formats`: which formats a method serves, at least one, in the usual order."""
    if not isinstance(formats, list | tuple) or not formats or not all(f in FORMATS for f in formats):
        raise InputError(f"formats are {formats!r}; name some of {', '.join(FORMATS)}")
    return tuple(format for format in FORMATS if format in formats)


def check_switches(**options: object) -> None:
    """Check options that are on or off: in a recipe or `--set`, true or false."""
    for name, value in options.items():
        if not isinstance(value, bool):
            raise InputError(f"{name} is {value!r}; it is true or false")

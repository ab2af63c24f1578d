"""The registry of methods: how an encoder serves several formats, by filling slots of the transformer.

A table of settings, of a method, a recipe or a model's folder, refuses unknown keys and values of a wrong type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from tokenizers import Tokenizer
from torch import Tensor, nn

from sciprism.encoders.layers import PackedBatch
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, SPACES, Format, Role
from sciprism.registry import Registry

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


Pool = Callable[[Tensor, PackedBatch], Tensor]
"""The encoder's pooling: maps the states of a batch, (T, hidden), to one vector per text, (B, hidden)."""
PLAIN = "single"  # the method of a plain backbone: it fills no slot


class FormatOptions(SettingsTable):
    """The option of most methods. formats: those that are served, at least one, in the usual order."""

    formats: Annotated[
        tuple[Format, ...], Field(min_length=1), AfterValidator(lambda given: tuple(f for f in FORMATS if f in given))
    ] = FORMATS


Product = tuple[Tensor, Tensor]
"""A, (rank, in), and B, (out, rank), of a low-rank update."""


@dataclass(frozen=True, slots=True)
class LowRankUpdates:
    """What a route adds to weights, scale B A. products: a linear map's name -> A and B. dropout: of the input of A."""

    products: Mapping[str, Product]
    scale: float
    dropout: float


class Method:
    """How one method works: which slots it fills, which route a text takes, its vectors, what is trained.

    Methods override what differs from one set of weights and one vector per text. settings: the table of its
    options. pooling: the method's, "" for the backbone's. reserved_positions: tokens inserted after each text's CLS
    for the method to fill. facets: number of vectors that add up to a text's vector. one_pass: one pass of a text
    gives its vectors of all routes. starts_from: the method whose models it starts from. keeps_text_states: its
    modules leave the states of the text as they are. own_parameters: what names of the method's parameters contain.
    freezes_backbone: only those are trained.
    """

    settings: ClassVar[type[SettingsTable]] = SettingsTable
    pooling: str = ""
    reserved_positions: int = 0
    facets: int = 0
    one_pass: bool = False
    starts_from: str = PLAIN
    keeps_text_states: bool = False
    own_parameters: tuple[str, ...] = ()
    freezes_backbone: bool = False

    def __init__(self, options: Any) -> None:
        self.options = options
        self.formats: tuple[Format, ...] = getattr(options, "formats", FORMATS)

    def fill(self, model: Transformer) -> None:
        """Put the method's modules into the transformer's slots, some as copies of the backbone's."""

    def initialize(self, model: Transformer, tokenizer: Tokenizer) -> None:
        """Set the weights that a new model derives from its backbone's."""

    def merge(self, model: Transformer, route: str) -> None:
        """Leave of the method's modules those of one route, as the backbone's own, where that keeps its vectors."""

    def low_rank_updates(self, model: Transformer, route: str) -> LowRankUpdates | None:
        """Return what a route adds to the backbone's linear maps, if that is all that the method does."""
        return None

    def remember_texts(self) -> None:
        """Read each text once from now on, where all that depends on it is frozen, as a training repeats texts."""

    def route(self, format: Format, role: Role) -> str:
        """Name the modules that a text passes through; equal routes give equal vectors."""
        return "all"

    def space(self, format: Format, role: Role) -> str:
        """Name the space of the vectors; only vectors of one space are comparable."""
        return self.route(format, role)

    def add_route(self, model: Transformer, route: str, tokenize: Callable[[str], list[int]]) -> None:
        """Get the model ready for a route. tokenize: maps an instruction to its token ids."""

    def vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the vector of each text on its route, (B, hidden)."""
        return pool(model(batch), batch)

    def vectors_by_route(self, model: Transformer, batch: PackedBatch, routes: Sequence[str], pool: Pool) -> Tensor:
        """Return one vector per text and route, (B, R, hidden), from one pass; for methods with `one_pass`."""
        raise NotImplementedError

    def facet_vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the vectors that add up to each text's, (B, K, hidden); for methods with `facets`."""
        raise NotImplementedError

    def scales(self, model: Transformer) -> Mapping[str, nn.Parameter]:
        """Return the measured factors of the dimensions of each route's vectors, (hidden,), if it has some."""
        return {}

    def owns_parameter(self, name: str) -> bool:
        """Return whether the parameter of this name belongs to the method, not to the backbone."""
        return any(part in f".{name}" for part in self.own_parameters)

    def trainable(self, name: str) -> bool:
        """Return whether the parameter of this name may be trained at all."""
        return not self.freezes_backbone or self.owns_parameter(name)

    def with_instruction(self, instruction: str) -> Method:
        """Return this method with this instruction for all its formats."""
        raise InputError("only the methods instruction and prefix take an instruction")


methods: Registry[type[Method]] = Registry("method")


@methods.register(PLAIN)
class Single(Method):
    """Fill no slot: every format and role has the same route and space."""


class PerFormat(Method):
    """One route per format; the candidates of a search take the route of proximity (SciRepEval, section 4).

    A query and its candidates share the space of proximity.
    """

    settings: ClassVar[type[SettingsTable]] = FormatOptions

    @property
    def routes(self) -> tuple[Format, ...]:
        """Return all routes, in the order of the formats."""
        routes = [self.route(format, role) for format in self.formats for role in ("query", "paper")]
        return tuple(route for route in FORMATS if route in routes)

    def route(self, format: Format, role: Role) -> str:
        """Return the format's name; proximity for the candidates of a search."""
        return format if role == "query" else SPACES[format]

    def space(self, format: Format, role: Role) -> str:
        """Return the format's name; search and proximity share a space."""
        return SPACES[format]


def build_method(name: str, options: Mapping[str, Any]) -> Method:
    """Build a method by name; an unknown option or a wrong value is an InputError."""
    kind = methods[name]
    return kind(kind.settings.from_table(options, f"the options of {name}"))


def expert_format(format: Format) -> Format:
    """Return the format whose expert or instruction serves this one; SciMult has three of the four.

    `regression` uses that of `classification`: both predict a property of one paper.
    """
    return "classification" if format == "regression" else format


def cls_embedding(model: Transformer, tokenizer: Tokenizer) -> Tensor:
    """Return the word embedding of the first special token, (hidden,)."""
    return model.embeddings.word.weight[tokenizer.encode("").ids[0]]

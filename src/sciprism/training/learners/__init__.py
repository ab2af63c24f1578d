"""What a source's examples teach: the texts to encode and the loss of their vectors, one file per kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.face import Encodes
from sciprism.encoders.methods import Format, Role
from sciprism.registry import Registry
from sciprism.text.template import Item
from sciprism.training.dev import reciprocal_rank
from sciprism.training.examples import Example, to_row
from sciprism.training.processes import Processes
from sciprism.training.tables import Table, checked

Asked = tuple[Sequence[Item], Role]
"""Texts to be encoded, and what they are."""


Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Examples of one source for one process, or blocks of tokens.

    seed: of every random choice that is made with them. draws: a seed for each block, whatever the process.
    """

    examples: Sequence[Example] = ()
    blocks: Sequence[Ids] = ()
    draws: Sequence[int] = ()
    format: Format = "proximity"
    query: Role = "paper"
    candidate: Role = "paper"
    seed: int

    def __len__(self) -> int:
        return len(self.examples) or len(self.blocks)

    def lines(self) -> Iterator[str]:
        """Yield what a person can read: a line of JSON for each."""
        yield from (json.dumps(to_row(example), ensure_ascii=False) for example in self.examples)
        yield from (json.dumps({"tokens": block.tolist()}) for block in self.blocks)


class Open(Protocol):
    """Gives the model that a name means, an earlier stage's for one, cut at so many tokens of a text."""

    def __call__(self, name: str, max_length: int | None = None, precision: str = "float32") -> Encodes:
        """Return the model, computing in a precision."""


def load(name: str, max_length: int | None = None, precision: str = "float32") -> Encodes:
    """Load one of our own models."""
    return Encoder.load(name, max_length=max_length, precision=precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a learner works with.

    labels: the names of all classes of its source. candidates: all labels among its positives, by key. open:
    gives teachers.
    """

    encoder: Encoder
    processes: Processes
    labels: Sequence[str] = ()
    candidates: Mapping[str, Item] = field(default_factory=dict)
    open: Open = load


class Learner:
    """The loss of one source's examples.

    settings: what a recipe may say. wants: what an example must have, in words. reads: examples, whose
    texts become vectors, or blocks of tokens, whose states count (`BlockLearner`). whole: every process
    computes the loss of all, even one without examples; else each the mean over its own. by_facet: the
    vectors that it gets are (n, K, D), those of facets. looks_ahead: it is told of batches before they come.
    modules: what is trained besides the encoder and dropped afterwards.
    """

    settings: ClassVar[type[Table]] = Table
    wants: ClassVar[str] = "a positive"
    reads: ClassVar[Literal["examples", "blocks"]] = "examples"
    whole: bool = False
    by_facet: ClassVar[bool] = False
    looks_ahead: bool = False
    modules: nn.Module | None = None

    def __init__(self, objective: Any, tools: Tools) -> None:
        self.objective = objective
        self.tools = tools

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether an example has what this learner wants."""
        return bool(example.positives)

    def asks(self, batch: Batch) -> list[Asked]:
        """Return the texts whose vectors the loss needs."""
        raise NotImplementedError

    def ahead(self, batches: Sequence[Batch]) -> None:
        """Make ready what coming batches need besides the encoder: many at once fill all cores."""

    def count(self, batch: Batch) -> int:
        """Return over how many things the loss is a mean, so that several processes' means can be joined."""
        return len(batch.examples)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: (n, D) for each list of texts asked."""
        raise NotImplementedError

    def score(self, batch: Batch) -> float:
        """Return how well held-out examples are answered, 1 at best: what chooses checkpoints."""
        return reciprocal_rank(self.tools.encoder, batch)

    def told(self, score: float) -> str:
        """Say a score to a person."""
        return f"{score:.4f}"

    def save(self, folder: Path) -> None:
        """Write what is kept of `modules` beside the model: nothing, unless a learner says otherwise."""


def settings_of(objective: Mapping[str, Any]) -> Table:
    """Check an objective's table against its kind; InputError names what is wrong and the known keys."""
    return checked(learners[str(objective.get("name"))].settings, objective, "objective")


learners: Registry[type[Learner]] = Registry("objective")

from sciprism.training.learners import (  # noqa: E402, F401
    auto_encoding,
    contrast,
    facets,
    four_sum,
    heads,
    label_ranking,
    masked_lm,
    relations,
    similarity,
    triplet,
    vector,
)

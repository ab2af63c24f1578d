"""The base of all training objectives: what a learner asks for, and what it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.face import Encodes
from sciprism.formats import Role
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.dev import reciprocal_rank
from sciprism.training.examples import Example
from sciprism.training.processes import Processes
from sciprism.training.tables import Table

Asked = tuple[Sequence[Item], Role]
"""Texts to be encoded, and what they are."""


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

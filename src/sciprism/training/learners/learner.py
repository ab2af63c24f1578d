"""The base class of training objectives (which texts a loss needs, and the loss), and their registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.formats import Role
from sciprism.registry import Registry
from sciprism.text.template import Item
from sciprism.training.batches import Batch
from sciprism.training.dev import reciprocal_rank
from sciprism.training.examples import Example
from sciprism.training.processes import Processes
from sciprism.training.recipe_tables import NamedTable

TextGroup = tuple[Sequence[Item], Role]
"""Texts to encode, and their role."""


class ModelLoader(Protocol):
    """Load a model by name, an earlier stage's for one."""

    def __call__(self, name: str, max_length: int | None = None, precision: str = "float32") -> EncoderProtocol:
        """Return the model. max_length: tokens to which texts are truncated. precision: of computation."""


def load_model(name: str, max_length: int | None = None, precision: str = "float32") -> EncoderProtocol:
    """Load one of sciprism's models."""
    return Encoder.load(name, max_length=max_length, precision=precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerContext:
    """What a learner works with.

    labels: the names of all classes of its source. candidates: all labels among its positives, by key.
    load_model: loads teachers.
    """

    encoder: Encoder
    processes: Processes
    labels: Sequence[str] = ()
    candidates: Mapping[str, Item] = field(default_factory=dict)
    load_model: ModelLoader = load_model


class Learner:
    """A training objective: the loss of one source's examples, with its heads.

    settings: its table in a recipe. requires: what an example must have, in words. reads: examples, whose
    texts become vectors, or blocks of tokens, whose states count (`BlockLearner`). gathers: every process
    computes the loss over all processes' examples, even one without any; else each the mean over its own.
    by_facet: the vectors that it gets are (n, K, D), those of facets. prefetches: it is given the batches of
    coming steps. modules: what is trained besides the encoder, and dropped after training.
    """

    settings: ClassVar[type[NamedTable]] = NamedTable
    requires: ClassVar[str] = "a positive"
    reads: ClassVar[Literal["examples", "blocks"]] = "examples"
    gathers: bool = False
    by_facet: ClassVar[bool] = False
    prefetches: bool = False

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        self.objective, self.context = objective, context
        self.modules: nn.Module = nn.Module()

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether an example has what this learner requires."""
        return bool(example.positives)

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return the texts whose vectors the loss needs."""
        raise NotImplementedError

    def prefetch(self, batches: Sequence[Batch]) -> None:
        """Prepare what coming batches need besides the encoder: many at once use all cores."""

    def count(self, batch: Batch) -> int:
        """Return the number of terms in the loss's mean, with which means of several processes are joined."""
        return len(batch.examples)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: (n, D) for each group of texts."""
        raise NotImplementedError

    def score(self, batch: Batch) -> float:
        """Return the score of held-out examples, 1 at best, which selects checkpoints."""
        return reciprocal_rank(self.context.encoder, batch)

    def format_score(self, score: float) -> str:
        """Return a score as text."""
        return f"{score:.4f}"

    def save(self, folder: Path) -> None:
        """Write what is kept of `modules` to the model's folder: by default nothing."""


learners: Registry[type[Learner]] = Registry("objective")


def check_objective(objective: Mapping[str, Any], what: str = "objective") -> NamedTable:
    """Return the settings in an objective's table; InputError names what is wrong and the known keys."""
    return learners[str(objective.get("name"))].settings.from_table(objective, what)

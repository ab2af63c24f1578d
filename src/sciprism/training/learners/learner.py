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
    """What an objective is built from: the trained encoder, the processes, and labels of its source.

    labels: names of all classes among the answers. candidates: all labels among the positives, by key.
    load_model: loads teachers.
    """

    encoder: Encoder
    processes: Processes
    labels: Sequence[str] = ()
    candidates: Mapping[str, Item] = field(default_factory=dict)
    load_model: ModelLoader = load_model


class Learner:
    """A training objective: the loss of one source's examples, with its heads.

    settings: its table in a recipe. requires: what an example must have, in words. reads: "examples", whose
    texts become vectors, or "blocks" of tokens, whose states are scored (`BlockLearner`). gathers: whether every
    process computes the loss over all processes' examples; if not, each computes the mean over its own. by_facet:
    whether vectors are those of facets, (n, K, D). prefetches: whether `prefetch` gets the batches of coming
    steps. modules: parameters that are trained with the encoder and dropped after training.
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
        """Return whether an example has what this objective requires."""
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

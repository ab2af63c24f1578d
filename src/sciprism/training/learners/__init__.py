"""What a stage does with a batch: from examples to gradients, one file for each kind of objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError
from torch import nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods import Format, Role
from sciprism.errors import InputError
from sciprism.registry import Registry
from sciprism.training.examples import Example
from sciprism.training.passes import Memory
from sciprism.training.processes import Processes


class Objective(BaseModel):
    """The settings of an objective, as a recipe states them; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Examples of one source for one process; seed: of every random choice that is made with them."""

    examples: Sequence[Example]
    format: Format
    query: Role
    candidate: Role
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a learner works with."""

    encoder: Encoder
    processes: Processes
    memory: Memory


class Learner(Protocol):
    """Adds the gradient of a batch to the parameters'."""

    settings: ClassVar[Any]
    modules: nn.Module | None

    def __init__(self, objective: Any, tools: Tools) -> None:
        """Take the checked settings of the objective."""
        ...

    def __call__(self, batch: Batch, scale: float) -> float:
        """Add the gradient of the loss times `scale`; return the loss over all processes."""
        ...


def settings_of(objective: Mapping[str, Any]) -> Objective:
    """Check an objective's table against its kind; InputError names what is wrong and the known keys."""
    kind = learners[str(objective.get("name"))].settings
    try:
        checked: Objective = kind.model_validate(objective)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InputError(f"objective: {wrong}; known: {', '.join(kind.model_fields)}") from error
    return checked


learners: Registry[type[Learner]] = Registry("objective")

from sciprism.training.learners import contrast, triplet  # noqa: E402, F401

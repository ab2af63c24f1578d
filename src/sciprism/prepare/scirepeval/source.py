"""A training source to be made: what its file is called, what its examples are for, where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sciprism.datasets.sources import Part
from sciprism.formats import Format, Role
from sciprism.prepare.open.making import Desk
from sciprism.prepare.samplers.drawing import Sampled
from sciprism.prepare.samplers.scored_lists import TRIPLETS
from sciprism.prepare.scirepeval.config import PARTS
from sciprism.training.examples import Example


@dataclass(slots=True)
class Taken(Sampled):
    """What was made of one part. records: of the data, those that a sample is drawn from."""

    records: int = 0


class Form(Protocol):
    """A form of data, read as examples."""

    @property
    def data(self) -> str:
        """Return where the data lie, for the record."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield the examples of one part; `desk.most` of them at most, 0 for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSource:
    """One source. type: as SciRepEval's config has it. labels: the classes, in the order of a head's outputs.

    parts: those that there are data of. most: part -> examples that the config asks for, 0 for all. least: of
    a dev file; fewer choose no checkpoint. told: more about it, for the record.
    """

    name: str
    type: str
    format: Format
    form: Form
    query: Role = "paper"
    candidate: Role = "paper"
    labels: tuple[str, ...] = ()
    multi_label: bool = False
    contrastive: bool = False
    parts: tuple[Part, ...] = PARTS
    most: Mapping[Part, int] = field(default_factory=dict)
    least: int = 1
    told: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what a recipe needs to know of it as JSON values."""
        row = {"name": self.name, "type": self.type, "format": self.format}
        row |= {"query": self.query, "candidate": self.candidate, "data": self.form.data}
        more = {"multi_label": self.multi_label, "contrastive": self.contrastive, "labels": list(self.labels)}
        return row | {key: value for key, value in (more | dict(self.told)).items() if value}


def lists_for(most: int) -> int:
    """Return how many queries give at most so many triplets; 0 for all."""
    return max(1, most // TRIPLETS) if most else 0

"""The declaration of a training source: its name, its format and roles, and the builder of its examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sciprism.datasets.open_data import Part
from sciprism.formats import Format, Role
from sciprism.prepare.example_folder import PARTS
from sciprism.prepare.open_builders import ExampleBuilder
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.samplers.scored_lists import MAX_TRIPLETS
from sciprism.training.examples import Example


@dataclass(slots=True)
class SourceReport(SampleReport):
    """The report of one part.

    requested: number of examples, 0 for all. records: number that were sampled from. examples: number
    written. classes: number of each class among their answers. total, bounds: sum and range of the numbers.
    """

    requested: int = 0
    records: int = 0
    examples: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    total: float = 0.0
    bounds: tuple[float, float] | None = None

    def count(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Yield the examples; count them and their answers."""
        for example in examples:
            self.examples += 1
            for answer in example.answers:
                if isinstance(answer, str):
                    self.classes[answer] += 1
                else:
                    low, high = self.bounds or (answer, answer)
                    self.bounds = min(low, answer), max(high, answer)
                    self.total += answer
            yield example

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values; those of pairs only where there are any."""
        sizes = {"examples": self.examples} | ({"requested": self.requested} if self.requested else {})
        answers: dict[str, Any] = {"classes": dict(sorted(self.classes.items()))} if self.classes else {}
        if self.bounds:
            low, high = self.bounds
            answers = {"numbers": {"min": low, "mean": self.total / self.examples, "max": high}}
        counts = SampleReport.to_json(self)
        return sizes | answers | (counts if self.queries else {"dropped": counts["dropped"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class SciRepEvalSource:
    """A training source.

    type: as in SciRepEval's config. labels: the classes, in the order of a head's outputs.
    parts: those with data. max_examples: part -> number requested by the config, 0 for all. min_dev_examples:
    smaller dev files are not written. facts: further keys of its record.
    """

    name: str
    type: str
    format: Format
    builder: ExampleBuilder[SourceReport]
    query: Role = "paper"
    candidate: Role = "paper"
    labels: tuple[str, ...] = ()
    multi_label: bool = False
    contrastive: bool = False
    parts: tuple[Part, ...] = PARTS
    max_examples: Mapping[Part, int] = field(default_factory=dict)
    min_dev_examples: int = 1
    facts: Mapping[str, Any] = field(default_factory=dict)

    def file(self, part: Part) -> str:
        """Return the name of the file of one part."""
        return f"{part}/{self.name}.jsonl"

    def to_json(self) -> dict[str, Any]:
        """Return what a recipe needs, as JSON values."""
        row = {"name": self.name, "type": self.type, "format": self.format}
        row |= {"query": self.query, "candidate": self.candidate, "data": self.builder.data}
        more = {"multi_label": self.multi_label, "contrastive": self.contrastive, "labels": list(self.labels)}
        return row | {key: value for key, value in (more | dict(self.facts)).items() if value}


def count_lists(max_triplets: int) -> int:
    """Return the number of queries that give at most this many triplets; 0 for all."""
    return max(1, max_triplets // MAX_TRIPLETS) if max_triplets else 0

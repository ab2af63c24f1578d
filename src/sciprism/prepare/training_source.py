"""A training source: what a recipe needs to know of it, how its examples are built, its train and dev files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sciprism.datasets.open_data import Part
from sciprism.formats import Format, Role
from sciprism.prepare.example_folder import PARTS, ExampleFolder
from sciprism.prepare.samplers.sampling import SampleReport, Sampling
from sciprism.prepare.samplers.scored_lists import MAX_TRIPLETS
from sciprism.training.examples import Example

Build = Callable[[Part, Sampling], Iterator[Example]]
"""Yields the examples of one part."""


@dataclass(slots=True)
class SourceReport(SampleReport):
    """The report of one part, with counts of examples and answers.

    requested: number of examples, 0 for all. examples: number written. classes: number of each class among their
    answers. total, bounds: sum and range of the numbers.
    """

    requested: int = 0
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
class TrainingSource:
    """A training source.

    data: what it is built from. type: as in SciRepEval's config. labels: the classes, in the order of a head's
    outputs. parts: those with data. max_examples: part -> number requested by the config, 0 for all.
    min_dev_examples: smaller dev files are not written. facts: further keys of its record.
    """

    name: str
    format: Format
    data: str
    build: Build
    query: Role = "paper"
    candidate: Role = "paper"
    type: str = ""
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

    def write(self, folder: ExampleFolder, samplings: Mapping[Part, Sampling]) -> bool:
        """Write the files of these parts, and remove those of an earlier run; return whether train is written.

        A file with too few examples is not written.
        """
        for part in PARTS:
            folder.remove(self.file(part))
            if sampling := samplings.get(part):
                examples = sampling.report.count(self.build(part, sampling))
                folder.write(self.file(part), examples, min_examples=1 if part == "train" else self.min_dev_examples)
        return self.file("train") in folder.counts

    def to_json(self, folder: ExampleFolder, samplings: Mapping[Part, Sampling]) -> dict[str, Any]:
        """Return what a recipe needs, and the written parts with their counts, as JSON values."""
        row: dict[str, Any] = {"name": self.name} | ({"type": self.type} if self.type else {})
        row |= {"format": self.format, "query": self.query, "candidate": self.candidate, "data": self.data}
        more = {"multi_label": self.multi_label, "contrastive": self.contrastive, "labels": list(self.labels)}
        row |= {key: value for key, value in (more | dict(self.facts)).items() if value}
        parts = {part: folder.describe(self.file(part)) | each.report.to_json() for part, each in samplings.items()}
        return row | {"parts": parts}


def count_lists(max_triplets: int) -> int:
    """Return the number of queries that give at most this many triplets; 0 for all."""
    return max(1, max_triplets // MAX_TRIPLETS) if max_triplets else 0


def limit_lists(sampling: Sampling) -> Sampling:
    """Return the sampling of queries that give as many triplets as its limit; the report is the same."""
    return replace(sampling, limit=count_lists(sampling.limit))

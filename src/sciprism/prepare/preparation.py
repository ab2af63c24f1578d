"""What every `prepare` command does: its settings, the files of examples that it writes, and its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sciprism.datasets.open_data import Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import sha256, write_json, write_lines
from sciprism.formats import Format, Role
from sciprism.papers.read import FileReport
from sciprism.prepare.samplers.sampling import NONE, QuerySample, Sampling
from sciprism.training.examples import Example, write_examples


@dataclass(frozen=True, slots=True)
class CountTable:
    """A table of counts. words, counts: the heads of its columns of text, and of its columns of numbers."""

    words: tuple[str, ...]
    counts: tuple[str, ...]
    rows: Sequence[Sequence[str | int | float]]
    title: str = ""

    def with_column(self, head: str, counts: Mapping[str, int | float]) -> CountTable:
        """Return the table with the counts of its rows by name; as it is if none has one."""
        column = [counts.get(str(row[0]), "") for row in self.rows]
        if not any(column):
            return self
        rows = [(*row, count) for row, count in zip(self.rows, column, strict=True)]
        return replace(self, counts=(*self.counts, head), rows=rows)


@dataclass(slots=True, kw_only=True)
class Preparation:
    """What a command wrote and dropped.

    files: path below the output folder -> number of its records. record: settings and counts as JSON values,
    as in the folder's manifest. dropped: of what -> why, how many. not_made: what could not be made -> why.
    read: the files of papers with their unusable records. tables, notes, warnings: for people.
    """

    files: dict[str, int] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, DropReport] = field(default_factory=dict)
    not_made: dict[str, str] = field(default_factory=dict)
    read: Sequence[FileReport] = ()
    tables: list[CountTable] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return all but the tables as JSON values: their counts are in `record`."""
        return {
            "files": self.files,
            "record": self.record,
            "dropped": {name: report.to_json() for name, report in self.dropped.items()},
            "not_made": self.not_made,
            "skipped": {file.path: file.skipped for file in self.read if file.skipped},
            "notes": self.notes,
            "warnings": self.warnings,
        }


Share = Annotated[float, Field(ge=0, le=1)]
DevShare = Annotated[float, Field(ge=0, lt=1)]  # it leaves something to train on
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Base of the settings of a command: a value that is not allowed is an InputError with the key and the value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = type(self).model_fields
        try:
            super().__init__(**dict(zip(fields, values, strict=False)), **named)
        except ValidationError as error:
            known = ", ".join(f"{name} = {field.default!r}" for name, field in fields.items())
            lines = []
            for details in error.errors():
                place = f"{'.'.join(map(str, details['loc']))} = {details['input']!r:.60}: " if details["loc"] else ""
                unknown = f"; known: {known}" if details["type"] == "extra_forbidden" else ""
                lines.append(f"{place}{details['msg'].removeprefix('Value error, ')}{unknown}")
            raise InputError("; ".join(lines)) from error


def check_folders(source: Path, out: Path) -> None:
    """Raise InputError for a missing input folder, and for output that would overwrite the input."""
    if not source.is_dir():
        raise InputError(f"{source}: no such folder")
    if out.resolve() == source.resolve():
        raise InputError(f"{out} is the input folder; choose another output folder")


PARTS: tuple[Part, ...] = ("train", "dev")  # the parts of a source: to train on, and to select checkpoints
MIN_DEV_EXAMPLES = 20  # examples of a dev file; fewer are too few to select a checkpoint


class ExampleFolder:
    """A folder of example files. counts: name of a written file, such as "train/NAME.jsonl" -> its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, int] = {}

    def write(self, name: str, examples: Iterable[Example], *, min_examples: int = 0) -> int:
        """Write examples, DPR-style; return how many. A file with fewer than `min_examples` is removed."""
        count = write_examples(examples, self.path / name)
        if count < min_examples:
            self.remove(name)
        else:
            self.counts[name] = count
        return count

    def write_triplets(self, name: str, ids: Sequence[str], samples: Iterable[tuple[int, QuerySample]]) -> None:
        """Write triplets of ids, whose texts are in papers.jsonl. samples: (row of the query, its sample)."""

        def lines() -> Iterator[str]:
            for row, sample in samples:
                for positive, negative, kind in zip_longest(sample.positives, sample.negatives, sample.kinds):
                    triplet = {"query": ids[row], "positive": ids[positive]}
                    if negative is not None and kind != NONE:
                        triplet |= {"negative": ids[negative], "kind": kind}
                    yield json.dumps(triplet, ensure_ascii=False)

        self.counts[name] = write_lines(self.path / name, lines(), errors="replace")

    def remove(self, name: str) -> None:
        """Remove a file, of this run or an earlier one."""
        (self.path / name).unlink(missing_ok=True)
        self.counts.pop(name, None)

    def describe(self, name: str) -> dict[str, Any]:
        """Return name, SHA-256 and lines of a file as JSON values; no name if it was not written."""
        if name not in self.counts:
            return {"file": None}
        return {"file": name, "sha256": sha256(self.path / name), "examples": self.counts[name]}

    def write_manifest(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        """Write the record of what is in the folder, with our version; return it."""
        record = {"version": version("sciprism")} | record
        write_json(self.path / name, record)
        return record


Build = Callable[[Part, Sampling], Iterator[Example]]  # yields the examples of one part


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSource:
    """A training source.

    data: what it is built from. type: as in SciRepEval's config. labels: the classes, in the order of a head's
    outputs. parts: those with data. max_examples: part -> number requested by the config, 0 for all.
    min_dev_examples: smaller dev files are not written.
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

    def file(self, part: Part) -> str:
        """Return the name of the file of one part."""
        return f"{part}/{self.name}.jsonl"

    def write(self, folder: ExampleFolder, samplings: Mapping[Part, Sampling]) -> bool:
        """Write the files of these parts, and remove those of an earlier run; return whether train is written.

        A file with too few examples is not written, nor dev alone.
        """
        for part in PARTS:
            folder.remove(self.file(part))
            if sampling := samplings.get(part):
                least = 1 if part == "train" else self.min_dev_examples
                folder.write(self.file(part), self.build(part, sampling), min_examples=least)
        if self.file("train") not in folder.counts:
            folder.remove(self.file("dev"))
        return self.file("train") in folder.counts

    def to_json(self, folder: ExampleFolder, samplings: Mapping[Part, Sampling]) -> dict[str, Any]:
        """Return what a recipe needs, and the written parts with their counts, as JSON values."""
        row: dict[str, Any] = {"name": self.name} | ({"type": self.type} if self.type else {})
        row |= {"format": self.format, "query": self.query, "candidate": self.candidate, "data": self.data}
        more = {"multi_label": self.multi_label, "contrastive": self.contrastive, "labels": list(self.labels)}
        row |= {key: value for key, value in more.items() if value}
        parts: dict[Part, dict[str, Any]] = {}
        for part, sampling in samplings.items():
            requested = {"requested": self.max_examples[part]} if self.max_examples.get(part) else {}
            parts[part] = folder.describe(self.file(part)) | requested | sampling.report.to_json()
        return row | {"parts": parts}

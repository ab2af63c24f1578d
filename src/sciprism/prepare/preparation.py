"""The result of every `prepare` command: the files it wrote, and what it dropped and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import FileReport


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


def check_dev_share(share: float) -> None:
    """Raise InputError for a share of dev that leaves nothing to train on, or is none."""
    if not 0 <= share < 1:
        raise InputError(f"a share of {share} for dev; it must be 0 or more, and less than 1")


def check_workers(workers: int, **counts: int) -> None:
    """Raise InputError for fewer than one worker, or for a negative seed or maximum; it names all of them."""
    if workers < 1 or min(counts.values()) < 0:
        given = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise InputError(f"{given}, workers {workers}: none may be negative, workers must be at least 1")


def check_folders(source: Path, out: Path) -> None:
    """Raise InputError for a missing input folder, and for output that would overwrite the input."""
    if not source.is_dir():
        raise InputError(f"{source}: no such folder")
    if out.resolve() == source.resolve():
        raise InputError(f"{out} is the input folder; choose another output folder")

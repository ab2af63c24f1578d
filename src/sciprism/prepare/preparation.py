"""The result of every `prepare` command: the files it wrote, and what it dropped and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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

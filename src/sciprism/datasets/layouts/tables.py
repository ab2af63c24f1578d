"""Rows of people's own tables, each with its place for messages, and the papers that stand in their files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import ItemTable
from sciprism.datasets.rows import TextIds, as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.json_values import json_values
from sciprism.papers.source import Source

TABLES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json")
_DELIMITERS = ("\t", ";", ",")
_LONGEST_CELL = 1 << 24


class TableRow:
    """One row of a table or one JSON object: its values by column, and its file and line.

    Columns are compared in lower case, with "_" for spaces and hyphens.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = {_column(key): value for key, value in values.items()}
        self.where = where

    def get(self, *names: str) -> Any:
        """Return what the first of these columns that is filled holds, or None."""
        return next((self.values[name] for name in map(_column, names) if self._filled(name)), None)

    def need(self, *names: str) -> Any:
        """Return the same. Raises InputError that names the columns where none is filled."""
        found = self.get(*names)
        if found is None:
            raise self.error(f"no {' or '.join(names)}; {self._columns(names[0])}")
        return found

    def has(self, column: str) -> bool:
        """Say whether there is such a column, filled or not."""
        return _column(column) in self.values

    def id(self, *names: str) -> str:
        """Return an id as text. Raises InputError where there is none."""
        found = self.need(*names)
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise self.error(f"{names[0]} is {found!r}, neither a text nor a number")
        return as_id(found).strip()

    def number(self, *names: str) -> float:
        """Return a finite number. Raises InputError where there is none."""
        found = self.need(*names)
        try:
            number = float(str(found).strip())
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.error(f"{names[0]} is {found!r}, not a number")
        return number

    def several(self, *names: str) -> tuple[str, ...]:
        """Return the items of a list, or of a text cut at each ";", without repeats; perhaps none."""
        found = self.get(*names)
        items = found if isinstance(found, list) else [] if found is None else str(found).split(";")
        return tuple(dict.fromkeys(text for item in items if (text := as_id(item).strip())))

    def error(self, message: str) -> InputError:
        """Return an error that begins with the row's place."""
        return InputError(f"{self.where}: {message}")

    def _filled(self, name: str) -> bool:
        value = self.values.get(name)
        return value not in (None, [], {}) and not (isinstance(value, str) and not value.strip())

    def _columns(self, wanted: str) -> str:
        close = get_close_matches(_column(wanted), self.values, n=1)
        columns = ", ".join(self.values) or "nothing"
        return f"the row has {columns}{f'; is {close[0]} meant?' if close and close[0] != wanted else ''}"


def read_rows(path: Path, tally: DropReport) -> Iterator[TableRow]:
    """Yield the rows of a CSV, TSV or JSON-lines file, plain or gzipped, in whatever encoding it has.

    A table's first line names its columns; tab, semicolon or comma divides them, whichever makes most. Ids
    that are a number here and a text there are read as texts and counted.
    """
    source, ids = Source(path), TextIds(tally)
    if not source.name.endswith(TABLES):
        raise InputError(f"{path}: expected a table ({' '.join(TABLES)}, perhaps with .gz)")
    is_json = source.head().lstrip()[:1] in ("{", "[")
    found = 0
    for found, (where, values) in enumerate(_objects(source) if is_json else _cells(source), 1):  # noqa: B007
        yield TableRow(ids.row(values), f"{path}, {where}")
    if not found:
        raise InputError(f"{path}: no rows")


def read_shelf(paths: Sequence[str | Path], tally: DropReport) -> ItemTable:
    """Return the papers of files in any format that `read_papers` knows; what cannot be used is counted."""
    shelf, report = ItemTable(tally), ReadReport()
    for paper in read_papers(paths, skip_bad=True, report=report):
        shelf.put(paper.id, paper)
    for skipped in report.skipped:
        tally.add("record that is no usable paper", str(skipped))
    if not len(shelf):
        reason = f": {report.skipped[0]}" if report.skipped else ""
        raise InputError(f"{', '.join(map(str, paths))}: no papers{reason}")
    return shelf


def is_table(path: str | Path) -> bool:
    """Say whether the name of a file tells of rows with columns, which may hold more than a paper."""
    return Path(path).name.lower().removesuffix(".gz").endswith(TABLES)


def find(folder: Path, *stems: str) -> list[Path]:
    """Return the files that bear the first of these names that any file bears, whatever their endings."""
    there = sorted(path for path in folder.iterdir() if path.is_file())
    for stem in stems:
        if found := [path for path in there if path.name.partition(".")[0] == stem]:
            return found
    return []


def needed(folder: Path, *stems: str) -> Path:
    """Return the one file of these names. Raises InputError where there is none, or several."""
    found = find(folder, *stems)
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        what = f"{len(found)} files" if found else "no file"
        raise InputError(f"{folder} holds {what} named {' or '.join(stems)}; it holds {there}")
    return found[0]


def _objects(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line, value, reason in json_values(source):
        where = f"record {number}" if line is None else f"line {line}"
        if reason or not isinstance(value, dict):
            raise InputError(f"{source.path}, {where}: {reason or f'{value!r:.60} is no object'}")
        yield where, value


def _cells(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    head = next((line for line in source.head().split("\n") if line.strip()), "")
    delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([head], delimiter=mark), [])))
    csv.field_size_limit(_LONGEST_CELL)
    lines = csv.reader((f"{line}\n" for _, line in source.lines()), delimiter=delimiter, strict=True)
    columns: list[str] = []
    before = 0
    try:
        for cells in lines:
            line, before = before + 1, lines.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = cells
            elif len(cells) != len(columns):
                raise InputError(
                    f"{source.path}, line {line}: {len(cells)} cells, but the first line names "
                    f"{len(columns)} columns; is a text unquoted?"
                )
            else:
                yield f"line {line}", dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{source.path}, line {before + 1}: {error}; is a quotation mark left open?"
        ) from None


def _column(name: str) -> str:
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")

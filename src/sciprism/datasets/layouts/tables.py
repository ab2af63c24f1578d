"""Rows of user tables, each with its file and line for messages, and the papers of user files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import ItemTable
from sciprism.datasets.rows import IdConverter, as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers, rows
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import read_json_values
from sciprism.papers.rows import detect_layout

TABLES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json")


class TableRow:
    """One row of a table or one JSON object: its values by column, and its file and line.

    Columns are compared in lower case, with "_" for spaces and hyphens.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = {_normalize_column(key): value for key, value in values.items()}
        self.where = where

    def get(self, *names: str) -> Any:
        """Return the value of the first of these columns that is not empty, or None."""
        for name in map(_normalize_column, names):
            value = self.values.get(name)
            if value not in (None, [], {}) and not (isinstance(value, str) and not value.strip()):
                return value
        return None

    def need(self, *names: str) -> Any:
        """Return the same value. Raises InputError that names the columns where all are empty."""
        found = self.get(*names)
        if found is None:
            close = get_close_matches(_normalize_column(names[0]), self.values, n=1)
            hint = f"; did you mean {close[0]}?" if close and close[0] != names[0] else ""
            raise self.error(f"no {' or '.join(names)}; the row has {', '.join(self.values) or 'nothing'}{hint}")
        return found

    def has(self, column: str) -> bool:
        """Tell whether there is such a column, empty or not."""
        return _normalize_column(column) in self.values

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
        """Return the distinct items of a list, or of a text split at ";"; may be empty."""
        found = self.get(*names)
        items = found if isinstance(found, list) else [] if found is None else str(found).split(";")
        return tuple(dict.fromkeys(text for item in items if (text := as_id(item).strip())))

    def error(self, message: str) -> InputError:
        """Return an error that begins with the row's file and line."""
        return InputError(f"{self.where}: {message}")


def read_rows(path: Path, dropped: DropReport) -> Iterator[TableRow]:
    """Yield the rows of a CSV, TSV or JSON-lines file, plain or gzipped, in any encoding.

    A table's first line names its columns; the delimiter is the one of tab, semicolon and comma that gives
    most columns. Ids that are numbers in some rows and texts in others are read as texts and counted.
    """
    source, ids = InputFile(path), IdConverter(dropped)
    if not source.name.endswith(TABLES):
        raise InputError(f"{path}: expected a table ({' '.join(TABLES)}, optionally with .gz)")
    is_json = source.head().lstrip()[:1] in ("{", "[")
    found = 0
    for found, (where, values) in enumerate(_read_objects(source) if is_json else _read_cells(source), 1):  # noqa: B007
        yield TableRow(ids.row(values), f"{path}, {where}")
    if not found:
        raise InputError(f"{path}: no rows")


def read_item_table(paths: Sequence[str | Path], dropped: DropReport) -> ItemTable:
    """Return the papers of files in any format that `read_papers` knows; unusable records are counted."""
    table, report = ItemTable(dropped), ReadReport()
    for paper in read_papers(paths, skip_bad=True, report=report):
        table.add(paper.id, paper)
    for skipped in report.skipped:
        dropped.add("record that is not a usable paper", str(skipped))
    if not len(table):
        reason = f": {report.skipped[0]}" if report.skipped else ""
        raise InputError(f"{', '.join(map(str, paths))}: no papers{reason}")
    return table


def is_table(path: str | Path) -> bool:
    """Tell by a file's name whether it has rows with columns, so more fields than a paper."""
    return Path(path).name.lower().removesuffix(".gz").endswith(TABLES)


def find_files(folder: Path, *stems: str) -> list[Path]:
    """Return the files with the first of these stems that any file has, with any ending."""
    present = sorted(path for path in folder.iterdir() if path.is_file())
    for stem in stems:
        if found := [path for path in present if path.name.partition(".")[0] == stem]:
            return found
    return []


def require_file(folder: Path, *stems: str) -> Path:
    """Return the only file with one of these stems. Raises InputError where there is none, or several."""
    found = find_files(folder, *stems)
    if len(found) != 1:
        present = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        what = f"{len(found)} files" if found else "no file"
        raise InputError(f"{folder} contains {what} named {' or '.join(stems)}; it contains {present}")
    return found[0]


def _read_objects(source: InputFile) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line, value, reason in read_json_values(source):
        where = f"record {number}" if line is None else f"line {line}"
        if reason or not isinstance(value, dict):
            raise InputError(f"{source.path}, {where}: {reason or f'{value!r:.60} is not an object'}")
        yield where, value


def _read_cells(source: InputFile) -> Iterator[tuple[str, dict[str, Any]]]:
    layout = detect_layout(source.head(), lambda _: ())
    width = len(layout.headers)
    for cells, fault in rows.read_rows(source, layout):
        where = f"line {source.record_line}"
        if not fault and len(cells) != width:
            fault = f"{len(cells)} cells, but the header has {width}; is a text unquoted?"
        if fault:
            raise InputError(f"{source.path}, {where}: {fault}")
        yield where, dict(zip(layout.headers, cells, strict=True))


def _normalize_column(name: str) -> str:
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")

"""Records of benchmark files: tables with or without a header, JSON lines, one JSON object keyed by id."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError

TABLES = (".tsv", ".txt")
HEADINGS = {"id", "index", "label", "labels", "score", "sentence", "sentence1", "question"}
"""A first line with one of these as a cell names the columns."""
LONGEST_CELL = 50
"""Lines that a quoted cell may go over; more is a quotation mark never closed."""


class Record(NamedTuple):
    """One record: its id or the number of its line, its fields, and its place for messages."""

    id: str
    values: dict[str, Any]
    where: str

    def need(self, *names: str) -> Any:
        """Return the first of these fields that is there, filled or not. Raises InputError without one."""
        for name in names:
            if name in self.values:
                return self.values[name]
        there = ", ".join(map(str, self.values)) or "nothing"
        raise InputError(f"{self.where}: no field {' or '.join(names)}; the record has {there}")


def is_table(path: Path) -> bool:
    """Tell by a file's ending whether its rows have columns instead of names."""
    return path.name.removesuffix(".gz").endswith(TABLES)


def records(home: DataRoot, path: Path, columns: Sequence[str] = ()) -> Iterator[Record]:
    """Yield the records of a file, by its ending. columns: what the columns of a table are."""
    if is_table(path):
        for line, cells in _cells(home, path, len(columns)):
            values = dict(zip(columns, cells, strict=True))
            yield Record(values.get("id") or str(line), values, f"{path}, line {line}")
        return
    for number, row in enumerate(_objects(home, path), 1):
        yield Record(as_id(row.get("id")) or str(number), row, f"{path}, record {number}")


def _objects(home: DataRoot, path: Path) -> Iterator[dict[str, Any]]:
    """Yield JSON lines or a JSON list as they are; of an object keyed by id each value with its id."""
    _, first = next(home.lines(path), (0, ""))
    if first.lstrip().startswith("[") or _is_record(first):
        yield from home.records(path)
        return
    for key, value in home.members(path):
        if not isinstance(value, dict):
            raise InputError(f"{path}: {key!r} holds {value!r:.40}, not a record")
        yield {"id": key} | value


def _is_record(line: str) -> bool:
    """Tell a line of JSON lines from the beginning of an object keyed by id."""
    try:
        value = json.loads(line)
    except ValueError:
        return line.strip() != "{"  # what is broken is reported with its line
    return not (isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()))


def _cells(home: DataRoot, path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of a tab-separated table, but for a line of headings and empty ones.

    Some of these tables quote cells that hold a line end or a quotation mark, and some quote nothing. A cell
    is unquoted only where its quotation marks are those of a quoted cell, and goes over the end of its line
    only where that line is short of cells.
    """
    lines = home.lines(path)
    for number, line in lines:
        if not line.strip():
            continue
        cells, text = _split(line, width), line
        while len(cells) < width and _open(cells[-1]) and text.count("\n") < LONGEST_CELL:
            _, more = next(lines, (0, None))
            if more is None:
                break
            text = f"{text}\n{more}"
            cells = _split(text, width)
        if number == 1 and HEADINGS.intersection(cell.strip().lower() for cell in cells):
            continue
        if len(cells) != width:
            raise InputError(
                f"{path}, line {number}: {len(cells)} cells where {width} belong, parted by tabs"
            )
        yield number, cells


def _split(line: str, width: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) > width:  # a quoted cell holds a tab
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter="\t", strict=True))
    return [_unquoted(cell) for cell in cells]


def _open(cell: str) -> bool:
    return cell.startswith('"') and cell.count('"') % 2 == 1


def _unquoted(cell: str) -> str:
    inside = cell[1:-1].replace('""', "")
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside
    return cell[1:-1].replace('""', '"') if quoted else cell

"""Read records of benchmark files: tables with or without a header, JSON lines, JSON objects keyed by id."""

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
"""A first line with one of these as a cell is a header."""
MAX_CELL_LINES = 50
"""Lines of a quoted cell; a longer one is an unclosed quotation mark."""


class LanguageRecord(NamedTuple):
    """A record: its id or line number, its fields, and its file and line for messages."""

    id: str
    values: dict[str, Any]
    where: str

    def need(self, *names: str) -> Any:
        """Return the first of these fields that exists, empty or not. Raises InputError if none does."""
        for name in names:
            if name in self.values:
                return self.values[name]
        present = ", ".join(map(str, self.values)) or "nothing"
        raise InputError(f"{self.where}: no field {' or '.join(names)}; the record has {present}")


def is_table(path: Path) -> bool:
    """Tell by a file's ending whether it is a table."""
    return path.name.removesuffix(".gz").endswith(TABLES)


def read_records(data_root: DataRoot, path: Path, columns: Sequence[str] = ()) -> Iterator[LanguageRecord]:
    """Yield the records of a file, as its ending says. columns: the names of a table's columns."""
    if is_table(path):
        for line, cells in _read_cells(data_root, path, len(columns)):
            values = dict(zip(columns, cells, strict=True))
            yield LanguageRecord(values.get("id") or str(line), values, f"{path}, line {line}")
        return
    for number, row in enumerate(_read_objects(data_root, path), 1):
        yield LanguageRecord(as_id(row.get("id")) or str(number), row, f"{path}, record {number}")


def _read_objects(data_root: DataRoot, path: Path) -> Iterator[dict[str, Any]]:
    """Yield JSON lines or the items of a JSON list; of an object keyed by id, each value with its id."""
    _, first = next(data_root.lines(path), (0, ""))
    if first.lstrip().startswith("[") or _is_record(first):
        yield from data_root.records(path)
        return
    for key, value in data_root.members(path):
        if not isinstance(value, dict):
            raise InputError(f"{path}: {key!r} is {value!r:.40}, not a record")
        yield {"id": key} | value


def _is_record(line: str) -> bool:
    """Tell whether a line is a record of JSON lines, not the start of an object keyed by id."""
    try:
        value = json.loads(line)
    except ValueError:
        return line.strip() != "{"  # the reader reports a broken line
    return not (isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()))


def _read_cells(data_root: DataRoot, path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of a tab-separated table, without its header and empty lines.

    Some of these tables quote cells with a line end or a quotation mark, others quote nothing. A cell is
    unquoted only if its quotation marks are those of a quoted cell, and continues on the next line only if
    its line has too few cells.
    """
    lines = data_root.lines(path)
    for number, line in lines:
        if not line.strip():
            continue
        cells, text = _split_cells(line, width), line
        while len(cells) < width and text.count("\n") < MAX_CELL_LINES:
            if not cells[-1].startswith('"') or cells[-1].count('"') % 2 == 0:
                break  # the last cell is not quoted, or its quotation mark is closed
            _, more = next(lines, (0, None))
            if more is None:
                break
            text = f"{text}\n{more}"
            cells = _split_cells(text, width)
        if number == 1 and HEADINGS.intersection(cell.strip().lower() for cell in cells):
            continue
        if len(cells) != width:
            raise InputError(f"{path}, line {number}: {len(cells)} cells, expected {width}, separated by tabs")
        yield number, cells


def _split_cells(line: str, width: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) > width:  # a quoted cell contains a tab
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter="\t", strict=True))
    return [_unquote(cell) for cell in cells]


def _unquote(cell: str) -> str:
    inside = cell[1:-1].replace('""', "")
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside
    return cell[1:-1].replace('""', '"') if quoted else cell

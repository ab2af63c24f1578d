"""Parse rows of papers' tables, for the declarations of suites."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sciprism.errors import InputError
from sciprism.evaluation.task import Published

NOT_PRINTED, NOT_ON_FILE = ("-", "–"), "?"
NUMBER = re.compile(r"(?P<score>-?[\d.]+)(?:±(?P<error>[\d.]+)|\((?P<deviation>[\d.]+)\))?")


def parse_published(source: str, columns: Sequence[str], table: str) -> tuple[Published, ...]:
    """Return the rows of a table: one per line, a name, a colon, and a cell for each column.

    An indented line continues the one before. columns: averages, tasks, or a task and a metric separated by a
    space. Cells are separated by spaces or "/": a number, 81.6±0.1 with a standard error, 81.6(0.1) with a
    standard deviation; "-": the paper prints none; "?": it does, but our sources lack it ("?" alone: the whole
    row). Raises InputError for a line with another number of cells, or a cell that is none of these.
    """
    rows = []
    for line in filter(None, map(str.strip, table.replace("\n ", " ").splitlines())):
        name, _, text = line.rpartition(":")
        cells = text.replace("/", " ").split()
        if cells == [NOT_ON_FILE]:
            cells *= len(columns)
        if len(cells) != len(columns) or not name:
            raise InputError(f"{source}: {line!r} has {len(cells)} cells for {len(columns)} columns")
        rows.append(_parse_row(name, source, dict(zip(columns, cells, strict=True))))
    return tuple(rows)


def rename_columns(row: Published, names: Mapping[str, str]) -> Published:
    """Return a published row with other names of some columns."""
    return replace(
        row,
        scores={names.get(column, column): score for column, score in row.scores.items()},
        spreads={names.get(column, column): spread for column, spread in row.spreads.items()},
        not_on_file=tuple(names.get(column, column) for column in row.not_on_file),
        not_printed=tuple(names.get(column, column) for column in row.not_printed),
    )


def _parse_row(name: str, source: str, cells: dict[str, str]) -> Published:
    found: dict[str, re.Match[str]] = {}
    for column, cell in cells.items():
        if cell in (*NOT_PRINTED, NOT_ON_FILE):
            continue
        match = NUMBER.fullmatch(cell)
        if not match:
            raise InputError(f"{source}, {name}, {column}: {cell!r} is neither a number nor - or ?")
        found[column] = match
    spreads = {column: match["error"] or match["deviation"] for column, match in found.items()}
    return Published(
        name=name,
        source=source,
        scores={column: float(match["score"]) for column, match in found.items()},
        spreads={column: float(spread) for column, spread in spreads.items() if spread},
        not_on_file=tuple(column for column, cell in cells.items() if cell == NOT_ON_FILE),
        not_printed=tuple(column for column, cell in cells.items() if cell in NOT_PRINTED),
    )

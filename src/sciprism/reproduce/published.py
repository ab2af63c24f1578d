"""Read the tables of numbers that papers print: published/PAPER.toml, one `[[table]]` each.

A table has a `number`, a `caption`, `columns` (with our names of tasks, metrics and averages) and rows. A row has a
`name` and one number per column in `values`, times 100 and with the decimals of the paper; `nan`: the paper prints
none. `spread`: standard deviations or errors, likewise. `unreadable`: columns, counted from 0, whose number the paper
prints and our sources lack; these are `nan` too. `source` says where the table is, if not under its number.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation.task import Published

FOLDER = Path(__file__).parent / "published"
TABLE_KEYS, ROW_KEYS = {"number", "caption", "columns", "source", "row"}, {"name", "values", "spread", "unreadable"}


def read_published(path: Path, paper: str) -> dict[str, tuple[Published, ...]]:
    """Return number of a table -> its rows, {} without the file. paper: its title, for the source of each row.

    Raises InputError for an unknown key, a table or row that occurs twice, and lists that are not parallel.
    """
    tables: dict[str, tuple[Published, ...]] = {}
    for table in tomllib.loads(path.read_text(encoding="utf-8"))["table"] if path.exists() else ():
        where = f"{path.name}, table {table.get('number')}"
        if unknown := sorted({*table} - TABLE_KEYS):
            raise InputError(f"{where}: unknown key {unknown[0]!r}")
        if table["number"] in tables or len({*table["columns"]}) < len(table["columns"]):
            raise InputError(f"{where}: the table or one of its columns occurs twice")
        source = table.get("source", f"{paper}, Table {table['number']}")
        rows = tuple(_read_row(row, table["columns"], source, where) for row in table["row"])
        if len({row.name for row in rows}) < len(rows):
            raise InputError(f"{where}: two rows have one name")
        tables[table["number"]] = rows
    return tables


def _read_row(row: Mapping[str, Any], columns: list[str], source: str, where: str) -> Published:
    where = f"{where}, {row.get('name')!r}"
    if unknown := sorted({*row} - ROW_KEYS):
        raise InputError(f"{where}: unknown key {unknown[0]!r}")
    spread, unreadable = row.get("spread", [float("nan")] * len(columns)), row.get("unreadable", [])
    if not len(row["values"]) == len(spread) == len(columns):
        raise InputError(f"{where}: {len(row['values'])} values and {len(spread)} spreads of {len(columns)} columns")
    if not all(place in range(len(columns)) and isnan(row["values"][place]) for place in unreadable):
        raise InputError(f"{where}: unreadable {unreadable} are not all columns without a value")
    empty = [place for place, value in enumerate(row["values"]) if isnan(value)]
    return Published(
        name=row["name"],
        source=source,
        scores={column: float(value) for column, value in zip(columns, row["values"], strict=True) if not isnan(value)},
        spreads={column: float(value) for column, value in zip(columns, spread, strict=True) if not isnan(value)},
        not_on_file=tuple(columns[place] for place in unreadable),
        not_printed=tuple(columns[place] for place in empty if place not in unreadable),
    )

"""Read the tables of numbers that papers print: published/PAPER.toml, a `[[table]]` each.

A table has a `number`, `columns` (our names of tasks, metrics and averages) and rows, and optionally a `caption`,
`notes`, and a `source`, if that is not the paper's table of this number. A row has a `name` and a number per column in
`values`, times 100 and with the decimals of the paper; `nan`: the paper prints none. `spread`: standard deviations or
errors, likewise. `unreadable`: columns, counted from 0, whose number the paper prints and our sources lack; these are
`nan` too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from math import isnan, nan
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation.task import Published

FOLDER = Path(__file__).parent / "published"
TABLE_KEYS = {"number", "caption", "columns", "source", "notes", "row"}
ROW_KEYS = {"name", "values", "spread", "unreadable"}
Tables = Mapping[str, tuple[Published, ...]]


def list_published(names: Iterable[str]) -> tuple[Published, ...]:
    """Return the rows of some tables, each named PAPER/NUMBER; InputError for an unknown one."""
    rows: list[Published] = []
    for name in names:
        paper, _, number = name.partition("/")
        tables = read_paper(paper)
        if number not in tables:
            raise InputError(f"no published table {name!r}; {paper} has {', '.join(tables) or 'no file of tables'}")
        rows += tables[number]
    return tuple(rows)


@cache
def read_paper(name: str) -> Tables:
    """Return number of a table -> its rows, of a paper's file in the package; {} without one."""
    path = FOLDER / f"{name}.toml"
    if not path.exists():
        return {}
    file = tomllib.loads(path.read_text(encoding="utf-8"))
    return parse_tables(file["table"], path.name, file["paper"])


def parse_tables(tables: Iterable[Mapping[str, Any]], where: str, paper: str = "") -> Tables:
    """Return number of a table -> its rows. paper: its title, for the source of each row.

    Raises InputError for an unknown or missing key, a table or row that occurs twice, and lists that are not parallel.
    """
    parsed: dict[str, tuple[Published, ...]] = {}
    for table in tables:
        number = table.get("number", "")
        place = f"{where}, table {number}"
        _check_keys(table, TABLE_KEYS, ("columns", "row"), place)
        columns, source = table["columns"], table.get("source", f"{paper}, Table {number}")
        if number in parsed or len({*columns}) < len(columns):
            raise InputError(f"{place}: the table or one of its columns occurs twice")
        rows = tuple(_parse_row(row, columns, source, place) for row in table["row"])
        if len({row.name for row in rows}) < len(rows):
            raise InputError(f"{place}: two rows have one name")
        parsed[number] = rows
    return parsed


def _parse_row(row: Mapping[str, Any], columns: list[str], source: str, where: str) -> Published:
    where = f"{where}, {row.get('name')!r}"
    _check_keys(row, ROW_KEYS, ("name", "values"), where)
    values, unreadable = row["values"], row.get("unreadable", [])
    spread = row.get("spread", [nan] * len(columns))
    if not len(values) == len(spread) == len(columns):
        raise InputError(f"{where}: {len(values)} values and {len(spread)} spreads of {len(columns)} columns")
    if wrong := [value for value in (*values, *spread) if not isinstance(value, int | float)]:
        raise InputError(f"{where}: {wrong[0]!r} is not a number; nan where the paper prints none")
    if not all(place in range(len(columns)) and isnan(values[place]) for place in unreadable):
        raise InputError(f"{where}: unreadable {unreadable} are not all columns without a value")
    empty = [place for place, value in enumerate(values) if isnan(value)]
    return Published(
        name=row["name"],
        source=source,
        scores={column: float(value) for column, value in zip(columns, values, strict=True) if not isnan(value)},
        spreads={column: float(value) for column, value in zip(columns, spread, strict=True) if not isnan(value)},
        not_on_file=tuple(columns[place] for place in unreadable),
        not_printed=tuple(columns[place] for place in empty if place not in unreadable),
    )


def _check_keys(row: Mapping[str, Any], known: set[str], required: tuple[str, ...], where: str) -> None:
    if unknown := sorted({*row} - known):
        raise InputError(f"{where}: unknown key {unknown[0]!r}")
    if lacking := [key for key in required if key not in row]:
        raise InputError(f"{where}: no {lacking[0]}")

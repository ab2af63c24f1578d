"""Write the tables of docs/results.md, and the table of speeds of README, from results/: `make results`.

docs/results.toml declares a table for each pair of marks in a page. Its cells are text with places in braces:

    [encode]
    columns = ["", "default batch", "papers/s"]
    cells = ["{times sentence-transformers, batch 32 (default):.1s}", "{papers_per_second:,.0f}"]
    rows = [["float32, two cores", "encode.json#/threads/2/sciprism float32"]]

A place is a file in results/ and a path in it; with `cells`, the last item of a row is where their paths begin. A path
ends at a number or a record. `*` stands for any part of a key, `a=1&b=2` for the records of a list with these values;
the tables of a Markdown file are such a list. A list of numbers stands for its median. `A / B`, `A - B`, `A * 100` are
computed from left to right, `A; B` are both. Formats are Python's, and `.1x` for the range of ratios in all places
that were found, `.1s` for a median with its range, `.1i` for a value with its interval.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from marked_pages import fill_marks  # noqa: E402

TABLES, PAGE = ROOT / "docs" / "results.toml", "docs/results.md"
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
VALUES, LOWS, HIGHS = ("median", "value", "difference", "mean"), ("min", "low"), ("max", "high")
OPERATORS = {"*": lambda a, b: a * b, "/": lambda a, b: a / b, "-": lambda a, b: a - b}


@cache
def read_results(name: str) -> Any:
    """Return what a file in results/ holds: of JSON the document, of Markdown the rows of its tables."""
    text = (ROOT / "results" / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else list(read_rows(text))


def read_rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the tables in a Markdown file, column -> cell."""
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")] if line.startswith("|") else []
        if heads and cells and set(line) - set("|:- "):
            yield dict(zip(heads, cells, strict=True))
        heads = heads or cells if cells else []


def find_all(place: str) -> list[Any]:
    """Return what a place names, `file,file#/path`: at least one number or record."""
    names, _, path = place.partition("#/")
    found = [read_results(name) for name in names.split(",")]
    for key in path.split("/"):
        found = [value for each in found for value in look_up(each, key.replace("~1", "/"))]
    if not found:
        raise SystemExit(f"{TABLES.name}: results/ has nothing at {place!r}")
    return found


def look_up(found: Any, key: str) -> list[Any]:
    """Return the values of a key, of the keys with `*`, or the records that have the values of `name=value&...`."""
    if isinstance(found, list) and key.isdecimal():
        return found[int(key) :][:1]
    if isinstance(found, dict) and "=" not in key.partition(":")[0]:
        pattern = re.compile(re.escape(key).replace(r"\*", ".*"))
        return [value for name, value in found.items() if pattern.fullmatch(name)]
    wanted = [part.partition("=") for part in key.split("&")]
    records = found if isinstance(found, list) else [found]
    return [each for each in records if all(str(each.get(name)) == value for name, _, value in wanted)]


def read_number(found: Any) -> float:
    """Return a number, the median of several, or the value of a record."""
    if isinstance(found, dict):
        return float(next(found[name] for name in VALUES if name in found))
    if isinstance(found, str):
        return float(NUMBER.findall(found)[0].replace(",", ""))
    return float(median(found) if isinstance(found, list) else found)


def read_spread(found: Any) -> tuple[float, float, float]:
    """Return a value with its lower and upper bound."""
    if isinstance(found, str):
        found = [float(number.replace(",", "")) for number in NUMBER.findall(found)]
    if isinstance(found, dict) and "from" in found:
        return found["above"], found["from"], found["to"]
    if isinstance(found, dict) and "interval" in found:
        return (read_number(found), *found["interval"])
    if isinstance(found, dict):
        low, high = (next(found[name] for name in names if name in found) for names in (LOWS, HIGHS))
        return read_number(found), low, high
    return (found[0], found[1], found[2]) if len(found) == 3 else (median(found), min(found), max(found))


def round_half_up(value: float, spec: str) -> Decimal:
    """Return a value with the decimals of a format, halves up, whatever their binary form is."""
    digits = int(re.findall(r"\.(\d)", spec)[0]) + 2 * spec.endswith("%")
    rounded = Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return rounded if rounded or "+" in spec else abs(rounded)


def compute(expression: str, start: str) -> list[float]:
    """Return the values of an expression of places, from left to right."""
    first, *others = re.split(r" ([*/-]) ", expression)
    results = [read_number(each) for each in find_all(complete(first, start))]
    for operator, operand in zip(others[::2], others[1::2], strict=True):
        number = re.fullmatch(r"\d+", operand)
        second = [float(operand)] if number else [read_number(each) for each in find_all(complete(operand, start))]
        results = [OPERATORS[operator](*pair) for pair in zip(results, cycle(second), strict=False)]
    return results


def complete(path: str, start: str) -> str:
    return path if "#/" in path or not start else f"{start}/{path}"


def write_value(expression: str, spec: str, start: str) -> str:
    """Return what a place in braces is written as."""
    kind, plain = spec[-1], spec[:-1]
    if kind in "si":
        parts = read_spread(find_all(complete(expression, start))[0])
        value, low, high = (f"{round_half_up(part, spec):{plain}f}" for part in parts)
        return f"{value}x ({low}–{high})" if kind == "s" else f"{value} [{low}, {high}]"
    values = [value for part in expression.split("; ") for value in compute(part, start)]
    if kind == "x":
        cells = [f"{value:.0f}x" if value >= 9.95 else f"{value:{plain}f}x" for value in sorted(values)]
        return cells[0] if cells[0] == cells[-1] else f"{cells[0]} to {cells[-1]}"
    return f"{round_half_up(values[0], spec):{spec}}"


def fill_cell(cell: str, start: str) -> str:
    """Return a cell with a value in the place of each brace."""
    return re.sub(r"\{([^{}]+):([^:{}]+)\}", lambda brace: write_value(brace[1], brace[2], start), cell)


def write_table(table: Mapping[str, Any]) -> str:
    """Return a table in Markdown: the first column is text, and so are the others where a cell has words."""
    columns: Sequence[str] = table["columns"]
    lines = [" | ".join(columns), " | ".join(["---"] * len(columns))]
    for row in table["rows"]:
        start, cells = (row[-1], [*row[:-1], *table["cells"]]) if "cells" in table else (table.get("at", ""), row)
        filled = [fill_cell(cell, start) for cell in cells]
        lines.append(" | ".join(filled + [""] * (len(columns) - len(filled))))
    return "".join(f"| {line} |\n" for line in lines)


def build_pages() -> dict[Path, str]:
    """Return the pages with their tables of docs/results.toml."""
    tables = tomllib.loads(TABLES.read_text(encoding="utf-8"))
    parts: dict[str, dict[str, str]] = {}
    for name, table in tables.items():
        for page in table.get("pages", [PAGE]):
            parts.setdefault(page, {})[name] = write_table(table)
    return {ROOT / page: fill_marks(ROOT / page, some, "make results") for page, some in parts.items()}


def main() -> None:
    for path, text in build_pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

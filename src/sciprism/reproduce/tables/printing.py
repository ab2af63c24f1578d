"""A filled table as text: aligned Markdown, which a terminal shows as well, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from sciprism.evaluation.report.grid import Block, narrowed
from sciprism.reproduce.tables.measured import Estimate
from sciprism.reproduce.tables.run import Cell, Filled

METHOD = (
    "Numbers are times 100; in brackets: 95% intervals over seeds and items. Items are resampled, the same "
    "for every row; the mean over k seeds spreads by Student's t (k - 1 degrees of freedom), the seeds of "
    "two rows in pairs where they are as many. A row of one seed: items alone."
)
TIMES = (
    "Seconds: encoding (or indexing) the documents, encoding the queries, searching; all of it divided by "
    "the queries. Cached: vectors were there from another task or run; empty the cache (SCIPRISM_CACHE) and "
    "remove the result to measure."
)
PARTS = ("documents", "queries", "search", "per query")
WIDE = 1_000_000


def text(filled: Filled, title: str, *, width: int = WIDE) -> str:
    """Return a title, the table in parts of some width, the differences, and what a reader must know."""
    blocks = [part for block in _blocks(filled, title) for part in narrowed(block, width)]
    return "\n\n".join([*map(markdown, blocks), "\n".join(f"- {note}" for note in notes(filled))]) + "\n"


def markdown(block: Block) -> str:
    """Return a heading and a table of aligned columns."""
    rows = [tuple(cell.replace("|", "\\|") for cell in row) for row in (block.heads, *block.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [_line(rows[0], widths), f"| {' | '.join(rule)} |", *(_line(row, widths) for row in rows[1:])]
    return "\n".join([f"### {block.title}", "", *lines])


def notes(filled: Filled) -> Iterator[str]:
    """Yield how intervals were made, what stands for what, and what has no number."""
    yield METHOD
    if filled.table.form == "relative":
        yield "A change is relative to the row it is held against, whose own numbers stand in its row."
    if filled.table.form == "errors":
        yield "Behind +-: the standard error over seeds. Changes are of the error, what is missing to 100."
    if filled.table.form == "runs":
        yield "In brackets: the standard deviation over runs; *: more than two from the row beside."
    if any(filled.times):
        yield TIMES
    for group in filled.table.groups:
        if group in filled.shape.remarks:
            yield f"{filled.shape.name}: {filled.shape.remarks[group]}."
    if filled.shape.own:
        yield "Columns marked (published) hold the paper's figures."
    else:
        yield "Other data than the paper's: its figures are not comparable and are not shown."
    for row, models in zip(filled.table.rows, filled.models, strict=True):
        if models:
            told = (", ".join(models), filled.shape.remarks.get(row.model, ""))
            yield f"{row.name}: {'; '.join(filter(None, told))}."
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.columns, cells, strict=True):
            if cell.remark or cell.status == "failed":
                yield f"{row.name}, {column.name}: {cell.remark or cell.status}"


def to_json(filled: Filled, title: str) -> dict[str, Any]:
    """Return everything as JSON values: ours in natural units, published figures times 100 as printed."""
    return {
        "title": title,
        "suite": filled.shape.name,
        "columns": [column.name for column in filled.columns],
        "rows": [
            {
                "name": row.name,
                "models": list(models),
                "against": row.against,
                "cells": {c.name: asdict(cell) for c, cell in zip(filled.columns, cells, strict=True)},
                "seconds": dict(times),
            }
            for row, models, cells, times in zip(
                filled.table.rows, filled.models, filled.cells, filled.times, strict=True
            )
        ],
        "notes": list(notes(filled)),
    }


def percent(found: Estimate, *, signed: bool, spread: str = "") -> str:
    """Return a number and its interval times 100: 71.23 [70.1, 72.3], or with signs; spread: in between."""
    if isnan(found.value):
        return "undefined"
    sign = "+" if signed else ""
    parts = (
        f"{100 * number:{sign}.{digits}f}"
        for number, digits in ((found.value, 2), (found.low, 1), (found.high, 1))
    )
    value, low, high = parts
    return f"{value}{spread} [{low}, {high}]"


def _blocks(filled: Filled, title: str) -> Iterator[Block]:
    relative, errors = (filled.table.form == form for form in ("relative", "errors"))
    printed = [any(row[i].published is not None for row in filled.cells) for i in range(len(filled.columns))]
    heads = ["", "seeds"]
    for column, both in zip(filled.columns, printed, strict=True):
        heads += [column.name, f"{column.name} (published)"] if both else [column.name]
    rows = []
    for row, models, cells in zip(filled.table.rows, filled.models, filled.cells, strict=True):
        line = [row.name, str(len(models) or "")]
        for cell, both in zip(cells, printed, strict=True):
            line.append(_of_runs(cell) if filled.table.form == "runs" else _number(cell, relative, errors))
            line += [_figure(cell, relative=relative)] if both else []
        rows.append(tuple(line))
    yield Block(title, tuple(heads), tuple(rows))
    if not relative and any(cell.above for row in filled.cells for cell in row):
        what = "relative change of the error, %" if filled.table.form == "errors" else "differences"
        yield Block(f"{title}: {what}", *_differences(filled))
    if any(filled.times):
        yield Block(f"{title}: seconds", *_seconds(filled))


def _differences(filled: Filled) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    heads = ("", "against", *(column.name for column in filled.columns))
    rows = [
        (row.name, row.against, *(percent(c.above, signed=True) if c.above else "-" for c in cells))
        for row, cells in zip(filled.table.rows, filled.cells, strict=True)
        if row.against
    ]
    return heads, tuple(rows)


def _seconds(filled: Filled) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    printed = filled.table.seconds if filled.shape.own else {}
    heads = ("", "search of", *PARTS, *(["per query (published)"] if printed else []))
    rows = [
        (
            row.name,
            task,
            *(f"{told[part]:.4g}" if isinstance(told[part], float) else str(told[part]) for part in PARTS),
            *([f"{printed[row.name]:g}" if row.name in printed else ""] if printed else []),
        )
        for row, times in zip(filled.table.rows, filled.times, strict=True)
        for task, told in times.items()
    ]
    return heads, tuple(rows)


def _of_runs(cell: Cell) -> str:
    """Return a mean and the standard deviation over runs times 100: 64.00 (0.91)*."""
    if not cell.found:
        return _number(cell, False, False)
    spread = f" ({100 * cell.found.spread:.2f})" if cell.found.seeds[0] > 1 else ""
    return f"{100 * cell.found.value:.2f}{spread}{'*' if cell.marked else ''}"


def _number(cell: Cell, relative: bool, errors: bool) -> str:
    if relative and cell.above:
        return percent(cell.above, signed=True)
    if cell.found:
        spread = f" +-{100 * cell.found.error:.2f}" if cell.found.error else ""
        return percent(cell.found, signed=False, spread=spread if errors else "")
    return {"published only": "", "not served": "-"}.get(cell.status, cell.status)


def _figure(cell: Cell, *, relative: bool) -> str:
    if cell.published is None:
        return ""
    return f"{cell.published:+.2f}" if relative else f"{cell.published:g}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *cells = row
    padded = [name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))]
    return f"| {' | '.join(padded)} |"

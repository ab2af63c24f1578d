"""Format a filled table as aligned Markdown, readable in a terminal too, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isnan
from typing import Any

from sciprism.encoders.settings import describe_untrained
from sciprism.evaluation.report.build import TextTable, format_markdown, split_table
from sciprism.reproduce.estimates import Estimate
from sciprism.reproduce.papers import TableForm, describe_data
from sciprism.reproduce.run import FilledTable, TableCell

METHOD = (
    "Scores are times 100; in brackets: 95% intervals over seeds and items, as `sciprism compare` computes them "
    "(docs/concepts/statistics.md), over the same items for every row; the mean over k seeds varies by Student's t "
    "(k - 1 degrees of freedom), with paired seeds for two rows of equal numbers. A row of one seed: items alone, "
    "not the sample of training papers."
)
TRAINED_ON = "†"  # mark of columns with data that scored models train on
OTHER_DATA = "Other data than the paper's: its numbers are not comparable and not shown."
UNLIMITED_WIDTH = 1_000_000


def format_table(filled: FilledTable, title: str, *, width: int = UNLIMITED_WIDTH) -> str:
    """Return a title, the table in parts of at most `width`, the differences, and notes."""
    blocks = [part for block in _build_blocks(filled, title) for part in split_table(block, width)]
    return "\n\n".join([*map(format_markdown, blocks), "\n".join(f"- {note}" for note in list_notes(filled))]) + "\n"


def list_notes(filled: FilledTable) -> Iterator[str]:
    """Yield notes on intervals, on the models and data behind rows and groups, and on missing scores."""
    yield METHOD
    if filled.table.form == "relative":
        yield "A change is relative to the baseline row, which shows its own scores."
    if filled.table.form == "errors":
        yield "After +-: the standard error over seeds. Changes are of the error, 100 - score."
    if filled.table.form == "runs":
        yield "In brackets: the standard deviation over runs; *: more than two from the baseline row."
    yield from _list_data(filled)
    if departures := filled.suite.describe_departures():
        yield departures
    for row in filled.rows:
        if row.models:
            remark = filled.suite.remarks.get(row.row.model, "")
            yield f"{row.row.name}: {'; '.join(filter(None, (', '.join(row.models), remark)))}."
    for row in filled.rows:
        yield from (f"{row.row.name}, {name}: {describe_untrained(stage)}." for name, stage in row.untrained.items())
    for row in filled.rows:
        for column, cell in zip(filled.columns, row.cells, strict=True):
            if cell.remark or cell.status == "failed":
                yield f"{row.row.name}, {column.name}: {cell.remark or cell.status}"


def _list_data(filled: FilledTable) -> Iterator[str]:
    """Yield what the data of each group are, which models train on them, and what published numbers are."""
    suite, table = filled.suite, filled.table
    yield from (f"{suite.label(g)}: {describe_data(suite, g)}." for g in table.groups if suite.groups.get(g))
    tasks = dict.fromkeys(score.task for column in filled.columns for score in column.scores)
    marked = [task for task in tasks if task in suite.trained_on]
    for text in dict.fromkeys(suite.trained_on[task] for task in marked):
        yield f"{TRAINED_ON} {', '.join(task for task in marked if suite.trained_on[task] == text)}: {text}."
    if not suite.original:
        yield OTHER_DATA
        return
    yield "Columns marked (published) are the paper's numbers."
    yield from table.notes
    published = _find_published_columns(filled)
    gaps = {cell.gap for row in filled.rows for cell, shown in zip(row.cells, published, strict=True) if shown}
    if "unreadable" in gaps:
        yield "unreadable: the paper prints a number, which its text as we have it lacks."
    if "not printed" in gaps:
        yield "A dash under (published): the paper prints no number."
    yield from (f"{row.name}: not in the paper's table." for row in table.rows if row.ours)


def table_to_json(filled: FilledTable, title: str) -> dict[str, Any]:
    """Return everything as JSON values: our scores in natural units, published ones times 100."""
    return {
        "title": title,
        "suite": filled.suite.name,
        "columns": [column.name for column in filled.columns],
        "rows": [
            {
                "name": row.row.name,
                "models": list(row.models),
                "untrained": dict(row.untrained),
                "against": row.row.against,
                "cells": {c.name: asdict(cell) for c, cell in zip(filled.columns, row.cells, strict=True)},
            }
            for row in filled.rows
        ],
        "notes": list(list_notes(filled)),
    }


def format_percent(estimate: Estimate, *, signed: bool, spread: str = "") -> str:
    """Return a score and its interval times 100: 71.23 [70.1, 72.3]; spread: text in between."""
    if isnan(estimate.value):
        return "undefined"
    sign = "+" if signed else ""
    value, low, high = (
        f"{100 * number:{sign}.{digits}f}"
        for number, digits in ((estimate.value, 2), (estimate.low, 1), (estimate.high, 1))
    )
    return f"{value}{spread} [{low}, {high}]"


def _build_blocks(filled: FilledTable, title: str) -> Iterator[TextTable]:
    relative = filled.table.form == "relative"
    published = _find_published_columns(filled)
    trained_on = filled.suite.trained_on
    names = [
        f"{column.name} {TRAINED_ON}" if any(score.task in trained_on for score in column.scores) else column.name
        for column in filled.columns
    ]
    heads = ["", "seeds"]
    for name, both in zip(names, published, strict=True):
        heads += [name, f"{name} (published)"] if both else [name]
    rows = []
    for row in filled.rows:
        line = [row.row.name, str(len(row.models) or "")]
        for cell, both in zip(row.cells, published, strict=True):
            line.append(_format_cell(cell, filled.table.form))
            if both:
                line.append(_format_published(cell, filled.table.form))
        rows.append(tuple(line))
    yield TextTable(title, tuple(heads), tuple(rows))
    if not relative and any(cell.above for row in filled.rows for cell in row.cells):
        what = "relative change of the error, %" if filled.table.form == "errors" else "differences"
        differences = (
            (
                *(row.row.name, row.row.against),
                *(format_percent(c.above, signed=True) if c.above else "-" for c in row.cells),
            )
            for row in filled.rows
            if row.row.against
        )
        yield TextTable(f"{title}: {what}", ("", "against", *names), tuple(differences))


def _find_published_columns(filled: FilledTable) -> list[bool]:
    """Return whether the paper prints numbers for each column."""
    return [
        any(cell.published is not None or cell.gap == "unreadable" for cell in cells)
        for cells in zip(*(row.cells for row in filled.rows), strict=True)
    ]


def _format_cell(cell: TableCell, form: TableForm) -> str:
    """Return a score or a change times 100; of runs the mean and standard deviation: 64.00 (0.91)*."""
    if form == "relative" and cell.above:
        return format_percent(cell.above, signed=True)
    if cell.found and form == "runs":
        spread = f" ({100 * cell.found.spread:.2f})" if cell.found.seeds[0] > 1 else ""
        return f"{100 * cell.found.value:.2f}{spread}{'*' if cell.marked else ''}"
    if cell.found:
        error = f" +-{100 * cell.found.error:.2f}" if form == "errors" and cell.found.error else ""
        return format_percent(cell.found, signed=False, spread=error)
    return {"published only": "", "not served": "-"}.get(cell.status, cell.status)


def _format_published(cell: TableCell, form: TableForm) -> str:
    """Return the paper's number, with its deviation or error: 64 (1), 81.6 +-0.1; or why there is none."""
    if cell.published is None:
        return {"not printed": "-"}.get(cell.gap, cell.gap)
    number = format(cell.published, "+.2f" if form == "relative" else "g")
    if cell.published_spread is None:
        return number
    return f"{number} ({cell.published_spread:g})" if form == "runs" else f"{number} +-{cell.published_spread:g}"

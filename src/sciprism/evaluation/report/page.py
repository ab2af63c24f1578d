"""A report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from sciprism.evaluation.report.figures import FigureRow, IntervalMark, render_figure
from sciprism.evaluation.report.model import Report, ReportRow
from sciprism.evaluation.report.text_tables import TextTable, build_tables, row_label


def html(report: Report) -> str:
    """Return the page: plots, and their numbers in sortable tables, for screens of any size."""
    package = files(__package__)
    style, script = ((package / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    parts = ["<h1>Systems side by side</h1>"]
    for suite in report.suites:
        tables = map(_table, build_tables(report, suite))
        parts += [f"<h2>{escape(suite)}</h2>", *_figures(report, suite), *tables]
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in report.notes)
    data = "\n".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in report.remarks.items())
    data = f"<h2>Data</h2>\n<ul>\n{data}\n</ul>\n" if data else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>sciprism: comparison</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body>\n{chr(10).join(filter(None, parts))}\n"
        f"<h2>Notes</h2>\n<ul>\n{notes}\n</ul>\n{data}<script>{script}</script>\n</body></html>\n"
    )


def _figures(report: Report, suite: str) -> Iterator[str]:
    rows = [row for row in report.rows if row.suite == suite and row.kind != "part"]
    averages = [row for row in rows if row.kind == "average"]
    tasks = [row for row in rows if row.kind == "task"]
    yield render_figure("Averages", report.systems, [_score_strip(row) for row in averages])
    for group in dict.fromkeys(row.group or row.format for row in tasks):
        members = [row for row in tasks if (row.group or row.format) == group]
        yield render_figure(f"Tasks: {group}", report.systems, [_score_strip(row) for row in members])
    title = f"Above {report.systems[report.baseline]} (hollow: the interval includes 0)"
    yield render_figure(title, report.systems, [_difference_strip(row) for row in [*averages, *tasks]], zero=True)


def _score_strip(row: ReportRow) -> FigureRow:
    marks = {
        i: IntervalMark(*_hundred(s.value, s.value if s.low is None else s.low, s.value if s.high is None else s.high))
        for i, cell in enumerate(row.cells)
        if (s := cell.score)
    }
    return FigureRow(row_label(row), marks)


def _difference_strip(row: ReportRow) -> FigureRow:
    marks = {
        i: IntervalMark(*_hundred(d.value, d.low, d.high), hollow=not d.marked)
        for i, cell in enumerate(row.cells)
        if (d := cell.difference)
    }
    return FigureRow(row_label(row), marks)


def _hundred(value: float, low: float, high: float) -> tuple[float, float, float]:
    return 100 * value, 100 * low, 100 * high


def _table(table: TextTable) -> str:
    heads = "".join(f'<th scope="col"><button>{escape(head or "name")}</button></th>' for head in table.heads)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_cell, cells))}</tr>' for name, *cells in table.rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title, quote=True)}">'
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _cell(text: str) -> str:
    value, bracket, rest = text.partition(" [")
    interval, _, mark = rest.partition("]")
    return (
        f"<td>{escape(value)}{escape(mark)} <small>[{escape(interval)}]</small></td>"
        if bracket
        else f"<td>{escape(text)}</td>"
    )

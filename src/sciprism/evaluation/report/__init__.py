"""Reports: systems side by side, their differences and what is missing, as text, HTML page or JSON.

The page has sortable tables, and a figure of each suite's task types.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from html import escape
from importlib.resources import files
from importlib.util import find_spec

from sciprism.evaluation.report.figures import DARK, LIGHT, PaperFigure, draw_task_types, render
from sciprism.evaluation.report.model import Report
from sciprism.evaluation.report.text_tables import TextTable, build_tables, latex, markdown, terminal


def html(report: Report) -> str:
    """Return the page, for screens of any size; without matplotlib it has no figures, and says so."""
    package = files(__package__)
    style, script = ((package / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    draws = find_spec("matplotlib") is not None
    parts = ["<h1>Systems side by side</h1>"]
    for suite in report.suites:
        tables = map(_table, build_tables(report, suite))
        parts += [f"<h2>{escape(suite)}</h2>", _figure(report, suite) if draws else "", *tables]
    undrawn = () if draws else ('Figures need matplotlib: the extra "bench".',)
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in (*report.notes, *undrawn))
    data = "\n".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in report.remarks.items())
    data = f"<h2>Data</h2>\n<ul>\n{data}\n</ul>\n" if data else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>sciprism: comparison</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body>\n{chr(10).join(filter(None, parts))}\n"
        f"<h2>Notes</h2>\n<ul>\n{notes}\n</ul>\n{data}<script>{script}</script>\n</body></html>\n"
    )


def _figure(report: Report, suite: str) -> str:
    """Return the bars of the suite's task types for light and dark screens, "" where none has an average."""
    figure = draw_task_types(report, suite)
    if not isinstance(figure, PaperFigure):
        return ""
    light, dark = (
        f"data:image/svg+xml;base64,{b64encode(render(figure.draw, theme, 'svg')).decode()}" for theme in (LIGHT, DARK)
    )
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(figure.table.title, quote=True)}"></picture></figure>'
    )


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
    if not bracket:
        return f"<td>{escape(text)}</td>"
    interval, _, mark = rest.partition("]")
    return f"<td>{escape(value)}{escape(mark)} <small>[{escape(interval)}]</small></td>"


outputs: dict[str, Callable[[Report], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "json": lambda report: json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n",
    "html": html,
}
"""The formats of reports."""

SUFFIXES = {".txt": "terminal", ".md": "markdown", ".tex": "latex", ".json": "json", ".html": "html"}

"""Reports: systems side by side, their differences and what is missing, as text, HTML page or JSON.

The page has sortable tables, and a figure of each suite's task types.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from importlib.util import find_spec

from sciprism.evaluation.report.build import build_tables, latex, markdown, terminal
from sciprism.evaluation.report.figures import DARK, LIGHT, PaperFigure, draw_task_types, render
from sciprism.evaluation.report.model import Report
from sciprism.pages import fill_file


def html(report: Report) -> str:
    """Return the page, for screens of any size; without matplotlib it has no figures, and says so."""
    draws = find_spec("matplotlib") is not None
    suites = []
    for suite in report.suites:
        figure, title, pictures = draw_task_types(report, suite) if draws else "", "", []
        if isinstance(figure, PaperFigure):
            drawn = (render(figure.draw, theme, "svg") for theme in (LIGHT, DARK))
            title, pictures = figure.table.title, [b64encode(picture).decode() for picture in drawn]
        suites.append((suite, title, pictures, build_tables(report, suite)))
    notes = (*report.notes, *(() if draws else ('Figures need matplotlib: the extra "bench".',)))
    page = fill_file("comparison.html", "tables.js", suites=suites, notes=notes, remarks=report.remarks)
    return page.decode("utf-8")


outputs: dict[str, Callable[[Report], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "json": lambda report: json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n",
    "html": html,
}
"""The formats of reports."""

SUFFIXES = {".txt": "terminal", ".md": "markdown", ".tex": "latex", ".json": "json", ".html": "html"}

"""Reports: systems side by side, their differences and what is missing, as text, HTML page or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from sciprism.evaluation.report.model import Report
from sciprism.evaluation.report.page import html
from sciprism.evaluation.report.text_tables import latex, markdown, terminal


def as_json(report: Report) -> str:
    """Return a report as one JSON document."""
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"


outputs: dict[str, Callable[[Report], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "json": as_json,
    "html": html,
}
"""The formats of reports."""

SUFFIXES = {".txt": "terminal", ".md": "markdown", ".tex": "latex", ".json": "json", ".html": "html"}

"""A report in the terminal; wide tables are split."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from sciprism.evaluation.report.model import Report
from sciprism.evaluation.report.notes import shorten_remarks
from sciprism.evaluation.report.text_tables import (
    GAP,
    HEAD_WIDTH,
    LONGEST_NAME,
    build_tables,
    split_table,
)

if TYPE_CHECKING:
    from rich.console import Console


def terminal(report: Report, *, width: int = 110) -> str:
    """Return the report as text without colours, for a file."""
    from rich.console import Console

    text = StringIO()
    show(report, Console(file=text, width=width, highlight=False, markup=False, emoji=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def show(report: Report, console: Console | None = None) -> None:
    """Print the report; tables wider than the terminal continue below."""
    from rich.console import Console
    from rich.table import Table

    console = console or Console(highlight=False, markup=False, emoji=False)
    for text_table in build_tables(report):
        for part in split_table(text_table, console.width):
            table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
            table.add_column("", overflow="fold", max_width=LONGEST_NAME)
            for i, head in enumerate(part.heads[1:], 1):
                cells = [len(row[i]) for row in part.rows]
                table.add_column(head, justify="right", overflow="fold", max_width=max([HEAD_WIDTH, *cells]))
            for row in part.rows:
                table.add_row(*row)
            console.print(part.title, style="bold")
            console.print(table, end="\n\n")
    for note in (*report.notes, *shorten_remarks(report.remarks)):
        console.print(f"- {note}", style="dim")

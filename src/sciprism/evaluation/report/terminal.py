"""A report in the terminal, wide tables in several parts."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from sciprism.evaluation.report.grid import GAP, HEAD, LONGEST_NAME, Block, blocks, narrowed
from sciprism.evaluation.report.model import Report

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

    console = console or Console(highlight=False, markup=False, emoji=False)
    for block in blocks(report):
        for part in narrowed(block, console.width):
            _print(part, console)
    for note in report.notes:
        console.print(f"- {note}", style="dim")


def _print(block: Block, console: Console) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("", overflow="fold", max_width=LONGEST_NAME)
    for i, head in enumerate(block.heads[1:], 1):
        cells = [len(row[i]) for row in block.rows]
        table.add_column(head, justify="right", overflow="fold", max_width=max([HEAD, *cells]))
    for row in block.rows:
        table.add_row(*row)
    console.print(block.title, style="bold")
    console.print(table, end="\n\n")

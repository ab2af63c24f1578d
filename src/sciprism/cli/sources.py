"""What `sciprism prepare` prints of the sources that it made."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from sciprism.drop_report import DropReport
    from sciprism.papers.reading import FileReport

WIDE = 200
"""Columns where nobody watches: tables are not cut."""


def plain_console() -> Console:
    """Return a console that prints texts as they are."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(markup=False, highlight=False, emoji=False, width=width)


def print_table(
    console: Console, words: Sequence[str], counts: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Print a table. words, counts: the heads of its columns, those of numbers on the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in words:
        table.add_column(name, no_wrap=True)
    for name in counts:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table, end="\n\n")


def print_dropped(console: Console, name: str, tally: DropReport) -> None:
    """Print what was dropped, and why."""
    dropped = tally.to_json()
    reasons = ", ".join(f"{reason} {known['count']:,}" for reason, known in dropped.items())
    console.print(f"{name}: dropped: {reasons or 'nothing'}", soft_wrap=True)


def print_left_out(console: Console, left_out: Mapping[str, str]) -> None:
    """Print which sources there are not, and why."""
    for name, reason in left_out.items():
        console.print(f"{name}: left out: {reason}", soft_wrap=True)


def print_skipped(files: Iterable[FileReport], *, error: bool = False) -> None:
    """Print of each file how many records could not be used; error: to standard error."""
    for file in files:
        if file.skipped:
            found = f"{file.skipped:,} of {file.papers + file.skipped:,} records cannot be used"
            where = sys.stderr if error else sys.stdout
            print(f"{file.path}: {found}; `sciprism inspect` says why", file=where)

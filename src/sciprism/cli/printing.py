"""What several commands print: tables, counts, dropped and skipped records."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sciprism.cli.json_documents import print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from sciprism.papers.read import FileReport
    from sciprism.prepare.preparation import Preparation

PIPED_WIDTH = 200
"""Columns of tables of `prepare` and `tokenizer` in a file or pipe."""
PLAIN_INTERVAL = 30.0
"""Seconds between lines of progress where standard error is no terminal."""
MAX_SHOWN = 10
"""Skipped records that are named; all are counted."""


def plain_console(piped_width: int | None = None) -> Console:
    """Return a console that prints texts as they are: titles and ids may hold brackets and numbers."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else piped_width
    return Console(markup=False, highlight=False, emoji=False, width=width)


def build_progress(console: Console, description: str, *, transient: bool = False) -> Progress:
    """Return a progress bar, off where the console is no terminal; tasks have a field `facts`, a text.

    transient: it vanishes when it stops.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    texts = (TextColumn(description), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[facts]}"))
    return Progress(
        *texts, TimeRemainingColumn(), console=console, disable=not console.is_terminal, transient=transient
    )


def print_table(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table. words, numbers: heads of its columns; those of numbers are aligned right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in words:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    plain_console(PIPED_WIDTH).print(table, end="\n\n")


def print_preparation(done: Preparation, as_json: bool) -> None:
    """Print the result of a `prepare` command: its tables, what was dropped and not made, and its notes."""
    if as_json:
        print_json("sciprism.prepare/1", done.to_json())
        return
    for table in done.tables:
        if table.title:
            print(table.title)
        print_table(table.words, table.counts, (map(format_cell, row) for row in table.rows))
    for name, report in done.dropped.items():
        if reasons := str(report):
            print(f"{name}: dropped: {reasons}")
    for name, reason in done.not_made.items():
        print(f"{name}: not made: {reason}")
    print_skip_counts(done.read)
    for note in done.notes:
        print(note)
    for warning in done.warnings:
        print(warning, file=sys.stderr)


def format_cell(cell: str | int | float) -> str:
    """Return a cell of a table of counts as text, 12345 as "12,345"."""
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}"


def print_skip_counts(files: Iterable[FileReport], *, error: bool = False) -> None:
    """Print of each file how many records could not be used; error: to standard error."""
    for file in files:
        if file.skipped:
            found = f"{file.skipped:,} of {file.papers + file.skipped:,} records cannot be used"
            where = sys.stderr if error else sys.stdout
            print(f"{file.path}: {found}; `sciprism inspect` says why", file=where)


def print_skipped(records: Sequence[object], count: int) -> None:
    """Name the first of `count` skipped records on standard error, and count the others."""
    for record in records[:MAX_SHOWN]:
        print(f"skipped: {record}", file=sys.stderr)
    if more := count - len(records[:MAX_SHOWN]):
        print(f"skipped: {more:,} more", file=sys.stderr)


def join_counts(counts: Mapping[str, int]) -> str:
    """Return counts as "3 new, 1 unchanged"; those that are zero are not in it."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def format_share(count: int, total: int) -> str:
    """Return a count and its share, "61 (12.0 %)"; the count alone of a total of 0."""
    return f"{count:,} ({100 * count / total:.1f} %)" if total else f"{count:,}"


def format_duration(seconds: float) -> str:
    """Return a time as "45 s", "12 min" or "1.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

"""What several commands print: tables, counts, dropped and skipped records."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from sciprism.cli.json_documents import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from sciprism.papers.read import FileReport
    from sciprism.prepare.preparation import Preparation

PIPED_WIDTH = 80
"""Columns of a table in a file or pipe."""
GAP = 1
"""Columns between those of a table."""
MAX_SHOWN = 10
"""Skipped records that are named; all are counted."""


def table_width() -> int:
    """Return the columns that a table may take: the terminal's, or 80 in a file or pipe."""
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if sys.stdout.isatty() else PIPED_WIDTH


def plain_console() -> Console:
    """Return a console that prints texts as they are: titles and ids may hold brackets and numbers."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, width=table_width())


def print_table(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table; one that is too wide continues below, with its words again.

    words, numbers: heads of its columns; those of numbers are aligned right.
    """
    from rich.table import Table

    console, cells = plain_console(), [list(row) for row in rows]
    for part in _split_columns([[*words, *numbers], *cells], len(words), console.width):
        table = Table(box=None, pad_edge=False, collapse_padding=True)
        for name in words:
            table.add_column(name, overflow="fold")
        for column in part:
            table.add_column(numbers[column - len(words)], justify="right", no_wrap=True)
        for row in cells:
            table.add_row(*row[: len(words)], *(row[column] for column in part if column < len(row)))
        console.print(table, end="\n\n")


def _split_columns(rows: Sequence[Sequence[str]], words: int, width: int) -> list[list[int]]:
    """Return the columns of numbers of each part of a table; words may take half of the width, and fold."""
    widths = [max(len(row[column]) for row in rows if column < len(row)) + GAP for column in range(len(rows[0]))]
    room = width - min(sum(widths[:words]), width // 2)
    parts: list[list[int]] = [[]]
    for column in range(words, len(widths)):
        if parts[-1] and sum(widths[each] for each in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    return parts


def print_entries(entries: Mapping[str, Iterable[str]]) -> None:
    """Print names, and below each its texts, indented; long words stay whole."""
    for name, texts in entries.items():
        print(name)
        for text in filter(None, texts):
            for line in wrap(text, table_width() - 4, break_long_words=False, break_on_hyphens=False):
                print(f"    {line}")


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values below each other; a long value continues under itself, its long words whole."""
    indent = max(map(len, facts)) + 2
    for name, value in facts.items():
        lines = [
            line
            for part in value.splitlines() or [""]
            for line in wrap(part, max(table_width() - indent, 20), break_long_words=False, break_on_hyphens=False)
        ]
        print(f"{name:<{indent}}" + f"\n{' ' * indent}".join(lines))


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

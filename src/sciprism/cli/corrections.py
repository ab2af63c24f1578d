"""The option for dumps with their updates, and what is said of deletions without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.output import ProgressDisplay
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.papers import Paper, ReadReport
    from sciprism.papers.last_records import LastRecords
    from sciprism.papers.records import Deletion

Corrections = Annotated[
    bool,
    typer.Option("--corrections", help="Of several records of a paper the last counts, and deletions delete it."),
]
Read = Callable[..., "Iterator[Paper | Deletion]"]


def find_last_records(read: Read, report: ReadReport, piped: bool) -> LastRecords:
    """Read the input once, and return which records count. Raises InputError for a pipe."""
    from sciprism.papers.last_records import LastRecords

    if piped:
        raise InputError("--corrections reads its input twice, and a pipe can be read only once; write it to a file")
    with ProgressDisplay("reading", "records") as display:
        return LastRecords.of(display.count(read(report=report)))


def refuse_deletions(report: ReadReport) -> None:
    """Raise InputError for an input that deletes papers."""
    if report.deletions:
        first = next(file.path for file in report.files if file.deletions)
        raise InputError(
            f"the input deletes {report.deletions:,} papers (the first in {first}): apply that, and that the last "
            "record of a paper counts, with --corrections; nothing was changed"
        )

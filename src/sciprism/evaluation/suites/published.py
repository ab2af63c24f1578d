"""Parse rows of papers' tables, for the declarations of suites."""

from __future__ import annotations

from collections.abc import Sequence

from sciprism.errors import InputError
from sciprism.evaluation.task import Published


def parse_published(source: str, columns: Sequence[str], table: str) -> tuple[Published, ...]:
    """Return the rows of a table: one per line, a name, a colon, and a number for each column; "-" for none.

    columns: averages, tasks, or a task and a metric separated by a space. Numbers are separated by spaces or
    "/". Raises InputError for a line with another number of cells.
    """
    rows = []
    for line in filter(None, map(str.strip, table.splitlines())):
        name, _, cells = line.rpartition(":")
        numbers = cells.replace("/", " ").split()
        if len(numbers) != len(columns) or not name:
            raise InputError(f"{source}: {line!r} has {len(numbers)} cells for {len(columns)} columns")
        scores = {column: float(cell) for column, cell in zip(columns, numbers, strict=True) if cell not in ("-", "–")}
        rows.append(Published(name=name, source=source, scores=scores))
    return tuple(rows)

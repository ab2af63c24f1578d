"""What `sciprism prepare open` prints: a table of the sources, and what was left out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciprism.tasks.training_sets.writing import Prepared, Written

WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""


def print_sets(prepared: Prepared) -> None:
    """Print a row for each source, then what each dropped and which sources there are not, with reasons."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False, emoji=False)
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in WORDS:
        table.add_column(name, no_wrap=True)
    for name in COUNTS:
        table.add_column(name, justify="right", no_wrap=True)
    for each in prepared.written:
        told = each.set
        table.add_row(told.name, told.format, told.query, told.candidate, *_counts(each))
    console.print(table, end="\n\n")
    for each in prepared.written:
        dropped = each.reports["train"].dropped.to_json()
        reasons = ", ".join(f"{reason} {known['count']:,}" for reason, known in dropped.items())
        console.print(f"{each.set.name}: dropped: {reasons or 'nothing'}", soft_wrap=True)
    for name, reason in prepared.left_out.items():
        console.print(f"{name}: left out: {reason}", soft_wrap=True)
    for data in prepared.missing:
        print(f"{data} is not there: papers of its test may stand in these sources", file=sys.stderr)


def _counts(each: Written) -> list[str]:
    train = each.reports["train"]
    dev = each.reports["dev"].queries if "dev" in each.files else 0
    return [f"{count:,}" for count in (train.queries, train.pairs, train.hard, dev)]

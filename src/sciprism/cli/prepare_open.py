"""What `sciprism prepare open` prints: a table of the sources, and what was left out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sciprism.cli.sources import plain_console, print_dropped, print_left_out, print_table

if TYPE_CHECKING:
    from sciprism.prepare.open.writing import Prepared, Written

WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""


def print_sets(prepared: Prepared) -> None:
    """Print a row for each source, then what each dropped and which sources there are not, with reasons."""
    console = plain_console()
    print_table(console, WORDS, COUNTS, map(_row, prepared.written))
    for each in prepared.written:
        print_dropped(console, each.set.name, each.reports["train"].dropped)
    print_left_out(console, prepared.left_out)
    for data in prepared.missing:
        print(f"{data} is not there: papers of its test may stand in these sources", file=sys.stderr)


def _row(each: Written) -> list[str]:
    told = each.set
    train = each.reports["train"]
    dev = each.reports["dev"].queries if "dev" in each.files else 0
    counts = (train.queries, train.pairs, train.hard, dev)
    return [told.name, told.format, told.query, told.candidate, *(f"{count:,}" for count in counts)]

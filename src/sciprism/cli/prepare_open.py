"""`sciprism prepare open`: training sources of the open data, and a table of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import DataFolder, OutputFolder, Seed, Workers, folder_or_none
from sciprism.cli.printing import print_dropped, print_not_made, print_table

if TYPE_CHECKING:
    from sciprism.prepare.open.writing import PreparedTrainingSets, WrittenTrainingSet

WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""


def open_sets(
    out: OutputFolder,
    data: DataFolder = "",
    max_queries: Annotated[int, typer.Option(help="Queries of one source; 0: all.")] = 20_000,
    seed: Seed = 0,
    workers: Workers = 1,
) -> None:
    """Make training sources of the open data: no paper of a test, in DPR-style files.

    Writes train/NAME.jsonl, dev/NAME.jsonl (to choose checkpoints) and sources.json: counts, and what was
    dropped and why.

    Example: sciprism prepare open -o sources --data data/
    """
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open.writing import write_sets

    data_root = DataRoot(folder_or_none(data))
    print_sets(write_sets(data_root, out, seed=seed, max_queries=max_queries, workers=workers))


def print_sets(prepared: PreparedTrainingSets) -> None:
    """Print a row for each source, what each dropped, and which were not made and why."""
    print_table(WORDS, COUNTS, map(_row, prepared.written))
    for each in prepared.written:
        print_dropped(each.set.name, each.reports["train"].dropped)
    print_not_made(prepared.skipped)
    for data in prepared.missing:
        print(f"{data} is missing: these sources may hold papers of its test", file=sys.stderr)


def _row(each: WrittenTrainingSet) -> list[str]:
    source, train = each.set, each.reports["train"]
    dev = each.reports["dev"].queries if "dev" in each.files else 0
    counts = (train.queries, train.pairs, train.hard, dev)
    return [source.name, source.format, source.query, source.candidate, *(f"{count:,}" for count in counts)]

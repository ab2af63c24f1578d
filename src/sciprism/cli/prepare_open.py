"""`sciprism prepare open`: training sources of the open data, and a table of them."""

from __future__ import annotations

from typing import Annotated

import typer

from sciprism.cli.options import AsJson, DataFolder, OutputFolder, Seed, Workers, folder_or_none
from sciprism.cli.output import print_preparation


def open_sets(
    out: OutputFolder,
    data: DataFolder = "",
    max_queries: Annotated[int, typer.Option(help="Queries of one source; 0: all.")] = 20_000,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Make training sources of the open data, without test papers.

    Writes DPR-style files train/NAME.jsonl, dev/NAME.jsonl (to choose checkpoints) and sources.json: counts,
    and what was dropped and why.

    Example: sciprism prepare open -o sources --data data/
    """
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open import prepare_open

    data_root = DataRoot(folder_or_none(data))
    print_preparation(prepare_open(data_root, out, seed=seed, max_queries=max_queries, workers=workers), as_json)

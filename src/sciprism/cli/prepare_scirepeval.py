"""`sciprism prepare scirepeval`: training sources of SciRepEval's kinds, and a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, DataFolder, OutputFolder, Seed, Workers, folder_or_none
from sciprism.cli.output import print_preparation

CONFIG = typer.Argument(help="SciRepEval's JSON list of training tasks.", show_default=False)
PAPERS = typer.Option(help="Your papers in any format, to make the same kinds of sources; repeatable.")
TABLES = typer.Option(help="A folder of tables: citations, authors, counts, mesh, venues, clicks.")
YEAR = typer.Option(help="Publication year of papers whose citations count; 0: the most frequent.")


def scirepeval(
    out: OutputFolder,
    config: Annotated[Path | None, CONFIG] = None,
    papers: Annotated[list[Path] | None, PAPERS] = None,
    tables: Annotated[Path | None, TABLES] = None,
    data: DataFolder = "",
    max_examples: Annotated[int, typer.Option(help="Examples of a train file; 0: all.")] = 600_000,
    max_dev_examples: Annotated[int, typer.Option(help="Examples of a dev file; 0: all.")] = 40_000,
    dev: Annotated[float, typer.Option(help="Share of your papers that are held out.")] = 0.05,
    year: Annotated[int, YEAR] = 0,
    seed: Seed = 42,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Make SciRepEval's training sources, or those of your papers.

    SciRepEval's need its config and data. Writes train/NAME.jsonl, dev/NAME.jsonl (to choose checkpoints) and
    sources.json: counts, and what was dropped and why. Tables are CSV, TSV or JSON lines: citations (citing,
    cited, mentions), authors (paper, author), counts (paper, citations), mesh (paper, descriptor, qualifier),
    venues (venue, field), clicks (query, paper, score).

    Example: sciprism prepare scirepeval tasks_config.json -o sources --data scirepeval/
    """
    from sciprism.errors import InputError
    from sciprism.prepare.scirepeval.training_sources import SourceSettings, prepare_scirepeval
    from sciprism.prepare.sources.user_corpus import UserPapers

    if tables and not papers:
        raise InputError(f"--tables {tables} describes papers; name these with --papers")
    settings = SourceSettings(max_examples=max_examples, max_dev_examples=max_dev_examples, seed=seed, workers=workers)
    user_papers = UserPapers(papers=tuple(papers), tables=tables, dev=dev, year=year) if papers else None
    folder = folder_or_none(data)
    done = prepare_scirepeval(out, config=config, user_papers=user_papers, data=folder, settings=settings)
    print_preparation(done, as_json)

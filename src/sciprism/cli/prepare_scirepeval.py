"""`sciprism prepare scirepeval`: training sources of SciRepEval's kinds, and a table of what was made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_left_out, print_table

if TYPE_CHECKING:
    from sciprism.prepare.scirepeval.writing import Prepared, Written

WORDS = ("source", "type", "format", "query")
COUNTS = ("train", "dev")
"""Examples of each file."""


def scirepeval(
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    config: Annotated[
        Path | None, typer.Argument(help="SciRepEval's JSON list of training tasks.", show_default=False)
    ] = None,
    papers: Annotated[
        list[Path] | None,
        typer.Option(help="Own papers in any format, to make the same kinds of; repeatable."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(help="A folder: citations, authors, counts, mesh, venues, clicks.")
    ] = None,
    data: Annotated[str, typer.Option(envvar="SCIPRISM_DATA", help="The folder of the published data.")] = "",
    most: Annotated[int, typer.Option(help="Examples of a train file; 0: all.")] = 600_000,
    most_dev: Annotated[int, typer.Option(help="Examples of a dev file; 0: all.")] = 40_000,
    dev: Annotated[float, typer.Option(help="The share of own papers that is held out.")] = 0.05,
    year: Annotated[int, typer.Option(help="Of papers whose citations count; 0: that of most.")] = 0,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance; 42 as published.")] = 42,
    workers: Annotated[int, typer.Option(help="Processes; the files are the same for any number.")] = 1,
) -> None:
    """Make SciRepEval's training sources: of its config and data, or of your own papers.

    Writes train/NAME.jsonl, dev/NAME.jsonl (to choose checkpoints) and sources.json: what was kept, dropped
    and why. Tables are CSV, TSV or JSON lines: citations (citing, cited, mentions), authors (paper, author),
    counts (paper, citations), mesh (paper, descriptor, qualifier), venues (venue, field), clicks (query,
    paper, score).

    Example: sciprism prepare scirepeval tasks_config.json -o sources --data scirepeval/
    """
    from sciprism.errors import InputError
    from sciprism.prepare.scirepeval.prepare import Own, prepare_scirepeval
    from sciprism.prepare.scirepeval.writing import Settings

    if tables and not papers:
        raise InputError(f"--tables {tables} tells about papers; name these with --papers")
    settings = Settings(most=most, most_dev=most_dev, seed=seed, workers=workers)
    own = Own(papers=tuple(papers), tables=tables, dev=dev, year=year) if papers else None
    where = Path(data) if data else None
    print_sources(prepare_scirepeval(out, config=config, own=own, data=where, settings=settings))


def print_sources(prepared: Prepared) -> None:
    """Print a row for each source, then what each dropped and which sources there are not, with reasons."""
    console = plain_console()
    print_table(console, WORDS, COUNTS, map(_row, prepared.written))
    for each in prepared.written:
        print_dropped(console, each.source.name, each.reports["train"].dropped)
        for part, report in each.reports.items():
            if asked := each.short(part):
                found = f"{each.source.name}, {part}: {report.records:,} records"
                print(f"{found}, fewer than {asked:,} examples need: all are used", file=sys.stderr)
    print_left_out(console, prepared.left_out)


def _row(each: Written) -> list[str]:
    told = each.source
    found = ((part, each.answers.get(part)) for part in each.source.parts)
    sizes = {part: answers.examples for part, answers in found if answers and part in each.files}
    counts = (f"{sizes.get(part, 0):,}" for part in ("train", "dev"))
    return [told.name, told.type, told.format, told.query, *counts]

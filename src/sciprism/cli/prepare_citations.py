"""`sciprism prepare citations`: triplets out of one's own papers and citations, and a table of the fields."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_skipped, print_table

if TYPE_CHECKING:
    from sciprism.prepare.citations.prepare import Prepared
    from sciprism.prepare.citations.sources import Papers
    from sciprism.prepare.samplers.domains import DomainTable

COUNTS = ("queries", "triplets", "%", "papers")


Files = Annotated[
    list[Path], typer.Argument(help="Papers: files of any format, folders, S2ORC, objects keyed by id.")
]
Edges = Annotated[Path | None, typer.Option(help="A table citing, cited; else papers' own references count.")]
Ties = Annotated[
    Path | None, typer.Option(help="How strongly papers are tied: SPECTER's data.json, of co-views for one.")
]
Triples = Annotated[
    Path | None,
    typer.Option(help="Triplets that are taken as they are: a table such as SciNCL's train_triples.csv."),
]
Fields = Annotated[
    list[str] | None, typer.Option(help="A field whose papers are queries, repeatable; else all.")
]
Shards = Annotated[
    list[int] | None, typer.Option(help="Of S2ORC: a shard whose papers are queries, repeatable; else all.")
]
Options = Annotated[list[str] | None, typer.Option("--set", help="key=value of the sampler; repeatable.")]
Smoothing = Annotated[float, typer.Option(help="A field weighs its share to this power; 0: all equal.")]
Crossing = Annotated[float, typer.Option(help="The least share of queries with several fields.")]
Without = Annotated[
    list[Path] | None,
    typer.Option(
        help="Papers of a test, or a folder multi-scidocs/, whose queries take no part; repeatable."
    ),
]
HeldOut = Annotated[
    str,
    typer.Option(help="papers: train names none that dev asks about; queries: it asks about none of them."),
]


def citations(
    files: Files,
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    edges: Edges = None,
    ties: Ties = None,
    triples: Triples = None,
    field: Fields = None,
    shard: Shards = None,
    sampler: Annotated[str, typer.Option(help="specter or scincl.")] = "specter",
    option: Options = None,
    smoothing: Smoothing = 1.0,
    cap: Annotated[int, typer.Option(help="Queries of a field at most; 0: no limit.")] = 0,
    crossing: Crossing = 0.0,
    dev: Annotated[float, typer.Option(help="The share of papers that is held out.")] = 0.05,
    hold_out: HeldOut = "papers",
    without: Without = None,
    abstracts: Annotated[bool, typer.Option(help="Leave out papers without an abstract.")] = False,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the files are the same for any number.")] = 1,
) -> None:
    """Make training triplets out of papers and their citations, as SPECTER or SciNCL samples them.

    Writes train.jsonl and dev.jsonl (triplets of ids), papers.jsonl (their texts) and citations.json: what
    was kept, dropped and why. A recipe names train.jsonl as a source.

    Example: sciprism prepare citations works.jsonl -o triplets --smoothing 0.7 --seed 1783
    """
    from sciprism.prepare.citations.prepare import HoldOut, Settings, prepare_citations
    from sciprism.prepare.citations.samplers import GIVEN, options_of
    from sciprism.prepare.samplers.domains import Balance

    papers = _papers(files, (edges, ties, triples), field, shard, without)
    sampler = GIVEN if triples else sampler
    balance = Balance(smoothing=smoothing, cap=cap, crossing=crossing, seed=seed)
    options = options_of(sampler, option or ())
    made = Settings(sampler, options, balance, dev, cast(HoldOut, hold_out), abstracts, seed, workers)
    print_triplets(prepare_citations(out, papers, made), papers)


def _papers(
    files: list[Path],
    tables: tuple[Path | None, Path | None, Path | None],
    fields: list[str] | None,
    shards: list[int] | None,
    without: list[Path] | None,
) -> Papers:
    from sciprism.prepare.citations.sources import Papers

    edges, ties, triples = tables
    return Papers(
        files=tuple(files),
        citations=edges,
        ties=ties,
        triples=triples,
        fields=tuple(fields or ()),
        shards=tuple(shards or ()),
        without=tuple(without or ()),
    )


def print_triplets(prepared: Prepared, papers: Papers) -> None:
    """Print each part by field, what was dropped, and how fast it went."""
    console = plain_console()
    for name, part in prepared.parts.items():
        print_table(console, (name,), COUNTS, field_rows(part.table))
    print_dropped(console, "papers and citations", prepared.dropped)
    for name, part in prepared.parts.items():
        print_dropped(console, name, part.report.dropped)
    if papers.without:
        print_dropped(console, "papers of tests", papers.tests.dropped)
    print_skipped([*papers.read.report.files, *papers.tests.report.files])
    pace = f"{prepared.papers:,} papers and {prepared.citations:,} citations in {prepared.seconds:,.0f} s"
    print(f"{pace}, {prepared.papers / prepared.seconds:,.0f} papers/s")


def field_rows(table: DomainTable) -> list[list[str]]:
    """Return the rows of a sample by fields, then the triplets across fields, then all."""
    found = []
    for field, row in table.rows().items():
        share = f"{100 * row.triplets / max(1, table.triplets):.1f}"
        found.append([field, f"{row.queries:,}", f"{row.triplets:,}", share, f"{row.papers:,}"])
    across = f"{100 * table.crossing / max(1, table.triplets):.1f}"
    found.append(["across fields", "", f"{table.crossing:,}", across, ""])
    return [*found, ["all", f"{table.queries:,}", f"{table.triplets:,}", "100.0", ""]]

"""`sciprism prepare multi-scidocs`: Multi2SPE's benchmark of any corpus, and its queries by field."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_left_out, print_table

if TYPE_CHECKING:
    from sciprism.prepare.multi_scidocs.prepare import Prepared

HEADS = ("cite: val", "test", "co-cite: val", "test", "class: val", "test", "train")


FILES = typer.Argument(help="Papers in any format, or folders with S2ORC's metadata/ and pdf_parses/.")
OUT = typer.Option("--output", "-o", help="The folder to write.")
EDGES = typer.Option(help="Who cites whom, a table with citing and cited; else the papers' references.")
CONSTRUCTION = typer.Option(help="published: the authors' own rules; corrected: without their defects.")
FIELD = typer.Option(help="A field that counts, repeatable; else all.")
SHARD = typer.Option(help="Of S2ORC: a shard whose papers are queries, repeatable; else all.")
WITHIN = typer.Option("--within-fields", help="Negatives have a field in common with their query.")
MOST = typer.Option(help="Queries of a field in a part, 0: all; else 500 if corrected, all if published.")


def multi_scidocs(
    files: Annotated[list[Path], FILES],
    out: Annotated[Path, OUT],
    edges: Annotated[Path | None, EDGES] = None,
    construction: Annotated[str, CONSTRUCTION] = "corrected",
    field: Annotated[list[str] | None, FIELD] = None,
    shard: Annotated[list[int] | None, SHARD] = None,
    positives: Annotated[int, typer.Option(help="Of a query, at most.")] = 5,
    negatives: Annotated[int, typer.Option(help="Of a query, at most.")] = 500,
    within_fields: Annotated[bool, WITHIN] = False,
    val: Annotated[float, typer.Option(help="The share of each field that is for val.")] = 0.4,
    test: Annotated[float, typer.Option(help="The share of each field that is for test.")] = 0.4,
    most: Annotated[int | None, MOST] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance; 321 as published.")] = 321,
) -> None:
    """Make Multi-SciDocs of a corpus: citations, co-citations and fields of study, to evaluate encoders on.

    A paper needs a title, an abstract and a field. Writes multi-scidocs/ and multi-scidocs.json: what was
    kept, dropped and why. Then: sciprism evaluate MODEL --suite multi-scidocs --data OUT.

    Example: sciprism prepare multi-scidocs papers.jsonl --edges citations.tsv -o benchmark
    """
    from sciprism.prepare.multi_scidocs.corpus import Given
    from sciprism.prepare.multi_scidocs.pools import Choices
    from sciprism.prepare.multi_scidocs.prepare import prepare_multi_scidocs

    given = Given(files=tuple(files), edges=edges, fields=tuple(field or ()), shards=tuple(shard or ()))
    choices = Choices(
        construction=construction,
        seed=seed,
        positives=positives,
        negatives=negatives,
        within_fields=within_fields,
        val=val,
        test=test,
        most=most,
    )
    print_benchmark(prepare_multi_scidocs(out, given, choices), negatives)


def print_benchmark(prepared: Prepared, negatives: int) -> None:
    """Print a row for each field, then what was dropped, and which pools have fewer negatives than asked."""
    console = plain_console()
    counts = prepared.written.counts
    print_table(console, ("field",), HEADS, _rows(prepared))
    console.print(f"{prepared.papers:,} papers, {prepared.citations:,} citations among them")
    print_dropped(console, "papers and citations", prepared.of_corpus)
    print_dropped(console, "queries and classes", prepared.of_queries)
    print_left_out(console, prepared.written.left_out)
    for name, counted in counts.items():
        if counted.short:
            few = f"{counted.short:,} queries with fewer than {negatives:,} negatives"
            print(f"{name}: {few}; the least is {counted.least:,}", file=sys.stderr)


def _rows(prepared: Prepared) -> list[list[str]]:
    counts = prepared.written.counts.values()
    fields = sorted({name for counted in counts for name in counted.fields})
    rows = [[name, *(f"{counted.fields[name]:,}" for counted in counts)] for name in fields]
    total = ["sum over fields", *(f"{counted.fields.total():,}" for counted in counts)]
    return [*rows, total, ["unique", *(f"{len(counted.rows):,}" for counted in counts)]]

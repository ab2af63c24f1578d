"""`sciprism prepare multi-scidocs`: Multi2SPE's benchmark of any corpus, and its queries by field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, Edges, OutputFolder, Seed
from sciprism.cli.output import print_preparation
from sciprism.cli.prepare_citations import Fields, Shards

FILES = typer.Argument(help="Papers in any format, or folders with S2ORC's metadata/ and pdf_parses/.")
CONSTRUCTION = typer.Option(help="published: the authors' own rules; corrected: without their defects.")
WITHIN = typer.Option("--within-fields", help="Negatives share a field with their query.")
MAX_QUERIES = typer.Option(help="Per field and split; 0: all; else 500 if corrected, all if published.")


def multi_scidocs(
    files: Annotated[list[Path], FILES],
    out: OutputFolder,
    edges: Edges = None,
    construction: Annotated[str, CONSTRUCTION] = "corrected",
    field: Fields = None,
    shard: Shards = None,
    positives: Annotated[int, typer.Option(help="Positives of a query, at most.")] = 5,
    negatives: Annotated[int, typer.Option(help="Negatives of a query, at most.")] = 500,
    within_fields: Annotated[bool, WITHIN] = False,
    val: Annotated[float, typer.Option(help="Share of each field that is for val.")] = 0.4,
    test: Annotated[float, typer.Option(help="Share of each field that is for test.")] = 0.4,
    max_queries: Annotated[int | None, MAX_QUERIES] = None,
    seed: Seed = 321,
    as_json: AsJson = False,
) -> None:
    """Make a Multi-SciDocs benchmark of your papers.

    It scores encoders on citations, co-citations and fields of study. A paper needs a title, an abstract and
    a field. Writes multi-scidocs/ and multi-scidocs.json: counts, and what was dropped and why. Then:
    sciprism evaluate MODEL --suite multi-scidocs --data OUT.

    Example: sciprism prepare multi-scidocs papers.jsonl --edges citations.tsv -o benchmark
    """
    from sciprism.prepare.multi_scidocs import CorpusInputs, prepare_multi_scidocs
    from sciprism.prepare.multi_scidocs_pools import BenchmarkSettings

    inputs = CorpusInputs(files=tuple(files), edges=edges, fields=tuple(field or ()), shards=tuple(shard or ()))
    settings = BenchmarkSettings(
        construction=construction,
        seed=seed,
        positives=positives,
        negatives=negatives,
        within_fields=within_fields,
        val=val,
        test=test,
        max_queries=max_queries,
    )
    print_preparation(prepare_multi_scidocs(out, inputs, settings), as_json)

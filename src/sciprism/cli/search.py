"""`sciprism search`: papers for a query in words."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sciprism.cli.options import AsJson
from sciprism.cli.ranked_list import CollectionFolder, Field, Model, Venue, Year, build_filter, print_rankings


def search(
    collection: CollectionFolder,
    query: Annotated[list[str], typer.Argument(help="One or more queries; - reads one a line from standard input.")],
    k: Annotated[int, typer.Option("-k", help="Papers to show for each query.")] = 10,
    mode: Annotated[str, typer.Option(help="exact, approximate, lexical or hybrid.")] = "exact",
    year: Year = "",
    venue: Venue = "",
    field: Field = "",
    why: Annotated[bool, typer.Option(help="Show the sentence nearest to the query; --no-why is faster.")] = True,
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Rank the papers of a collection for a query in words.

    Put quotes around a query of several words; each argument is a query of its own.

    Example: sciprism search vecs/ "dark matter halos" -k 5 --year 1990-2010
    """
    from sciprism.cli.stored_model import load_collection_encoder
    from sciprism.store import Collection
    from sciprism.uses.search import check_mode
    from sciprism.uses.search import search as rank

    check_mode(mode)
    chosen = build_filter(year, venue, field)
    opened = Collection.open(collection)
    queries = _read_queries(query)
    encoder = load_collection_encoder(opened, model) if why or mode != "lexical" else None
    rankings = rank(opened, encoder, queries, k, mode=mode, filter=chosen, why=why)
    print_rankings(opened, rankings, mode, as_json)


def _read_queries(arguments: list[str]) -> list[str]:
    """Return the queries, with the lines of standard input for `-`; empty lines are no queries."""
    from sciprism.errors import InputError

    queries: list[str] = []
    for argument in arguments:
        queries += [line.strip() for line in sys.stdin if line.strip()] if argument == "-" else [argument]
    if not queries:
        raise InputError("standard input holds no query; write one a line")
    return queries

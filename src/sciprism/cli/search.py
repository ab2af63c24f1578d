"""`sciprism search`: papers for a query in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson
from sciprism.cli.ranked_list import (
    CollectionFolder,
    Field,
    Model,
    Venue,
    Year,
    build_filter,
    open_papers,
    print_rankings,
)
from sciprism.errors import InputError


def search(
    collection: CollectionFolder,
    words: Annotated[
        list[str] | None, typer.Argument(help="The words of one query; - alone is --queries -.", show_default=False)
    ] = None,
    query: Annotated[list[str] | None, typer.Option("-q", "--query", help="A query; repeatable.")] = None,
    queries: Annotated[str, typer.Option(help="A file with one query a line; - is standard input.")] = "",
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

    All words are one query, with quotes or without. For several queries: -q ONE -q TWO, or --queries FILE.

    Example: sciprism search vecs/ dark matter halos -k 5 --year 1990-2010
    """
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.search import check_mode
    from sciprism.uses.search import search as rank

    check_mode(mode)
    chosen = build_filter(year, venue, field)
    opened = open_papers(collection, chosen)
    asked = _collect_queries(words or [], query or [], queries)
    encoder = load_encoder(opened, model) if why or mode != "lexical" else None
    rankings = rank(opened, encoder, asked, k, mode=mode, filter=chosen, why=why)
    print_rankings("search", opened, rankings, mode, as_json=as_json)


def _collect_queries(words: list[str], queries: Iterable[str], file: str) -> list[str]:
    """Return the query in words, those of -q, and the lines of a file; empty lines are no queries."""
    if words == ["-"] and not file:
        words, file = [], "-"
    if "-" in words:
        raise InputError("- is among the words of a query; read queries from standard input with --queries -")
    asked = [*([" ".join(words)] if words else []), *queries]
    if file:
        asked += _read_lines(file)
    if not asked:
        raise InputError("no query; write its words after the collection, or -q QUERY, or --queries FILE")
    return asked


def _read_lines(file: str) -> Iterator[str]:
    from sciprism.papers.cleaning import is_blank
    from sciprism.papers.input_file import InputFile

    lines = [line.strip() for _, line in InputFile(Path(file)).lines() if not is_blank(line)]
    if not lines:
        name = "standard input" if file == "-" else file
        raise InputError(f"{name} holds no query; write one a line")
    yield from lines

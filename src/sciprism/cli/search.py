"""`sciprism search`: papers for a query in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import AsJson
from sciprism.cli.ranked_list import (
    Field,
    Model,
    Venue,
    Year,
    build_filter,
    open_papers,
    print_rankings,
    warn_unfinished,
)
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.store import Filter
    from sciprism.uses import Ranking


def search(
    collection: Annotated[
        str, typer.Argument(help="A folder made by `sciprism embed`; not with --in.", show_default=False)
    ] = "",
    words: Annotated[
        list[str] | None, typer.Argument(help="The words of one query; - alone is --queries -.", show_default=False)
    ] = None,
    database: Annotated[
        str, typer.Option("--in", help="Search a collection that `sciprism push` copied to this address.")
    ] = "",
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
    Example: sciprism search --in qdrant://localhost:6333/papers dark matter halos
    """
    from sciprism.uses.search import check_mode

    check_mode(mode)
    chosen = build_filter(year, venue, field)
    words = [*filter(None, [collection if database else ""]), *(words or [])]
    collect = partial(_collect_queries, words, query or [], queries)
    rank = _search_database if database else _search_folder
    rankings = rank(database or collection, model, collect, k=k, mode=mode, filter=chosen, why=why)
    print_rankings("search", database or collection, rankings, mode, as_json=as_json)


def _search_folder(
    folder: str, model: str, collect: Callable[[], list[str]], *, k: int, mode: str, filter: Filter, why: bool
) -> list[Ranking]:
    """Search a collection in a folder."""
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.search import search as rank

    if not folder:
        raise InputError("name the folder of a collection, or the address of a pushed one with --in")
    opened = open_papers(Path(folder), filter)
    queries = collect()
    encoder = load_encoder(opened, model) if why or mode != "lexical" else None
    return rank(opened, encoder, queries, k, mode=mode, filter=filter, why=why)


def _search_database(
    address: str, model: str, collect: Callable[[], list[str]], *, k: int, mode: str, filter: Filter, why: bool
) -> list[Ranking]:
    """Search a pushed collection; warn on standard error of an unfinished push."""
    from sciprism.databases import RemoteCollection
    from sciprism.uses.collection import load_recorded_encoder

    queries = collect()
    with RemoteCollection(address) as remote:
        if not remote.record.complete:
            warn_unfinished(address, len(remote), "push")
        needed = why or mode != "lexical"
        encoder = load_recorded_encoder(remote.record.encoder, address, model) if needed else None
        return remote.rank(encoder, queries, k, mode=mode, filter=filter, why=why)


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

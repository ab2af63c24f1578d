"""`sciprism similar`: papers like a paper of the collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from sciprism.papers import Paper
    from sciprism.store import StoredCollection


def similar(
    collection: CollectionFolder,
    to: Annotated[str, typer.Option("--to", help="An id, DOI or title, the beginning of an id, or a file of papers.")],
    k: Annotated[int, typer.Option("-k", help="Papers to show.")] = 10,
    mode: Annotated[str, typer.Option(help="exact or approximate.")] = "exact",
    year: Year = "",
    venue: Venue = "",
    field: Field = "",
    why: Annotated[bool, typer.Option(help="Show the nearest sentence; --no-why loads no model.")] = True,
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Rank the papers of a collection that are nearest to one of them, or to each paper of a file.

    Example: sciprism similar vecs/ --to watson-crick-1953 -k 5
    """
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.similar import similar as rank
    from sciprism.uses.similar import similar_to_papers

    chosen = build_filter(year, venue, field)
    opened = open_papers(collection, chosen)
    if papers := _read_file(opened, to):
        encoder = load_encoder(opened, model)
        rankings = similar_to_papers(opened, encoder, papers, k, mode=mode, filter=chosen, why=why)
    else:
        rankings = [rank(opened, load_encoder(opened, model) if why else None, to, k, mode=mode, filter=chosen)]
    print_rankings("similar", collection, rankings, mode, as_json=as_json)


def _read_file(collection: StoredCollection, to: str) -> list[Paper]:
    """Return the papers of a file, none where `to` is the id of a stored paper or names no file."""
    from sciprism.papers import read_papers

    if collection.find_row(to) is not None or not (to == "-" or Path(to).is_file()):
        return []
    return list(read_papers(to))

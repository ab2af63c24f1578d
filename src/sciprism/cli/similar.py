"""`sciprism similar`: papers like a paper of the collection."""

from __future__ import annotations

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


def similar(
    collection: CollectionFolder,
    to: Annotated[str, typer.Option("--to", help="The id or the title of the paper.")],
    k: Annotated[int, typer.Option("-k", help="Papers to show.")] = 10,
    mode: Annotated[str, typer.Option(help="exact or approximate.")] = "exact",
    year: Year = "",
    venue: Venue = "",
    field: Field = "",
    why: Annotated[bool, typer.Option(help="Show the nearest sentence; --no-why loads no model.")] = True,
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Rank the papers of a collection that are nearest to one of them.

    Example: sciprism similar vecs/ --to watson-crick-1953 -k 5
    """
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.similar import similar as rank

    chosen = build_filter(year, venue, field)
    opened = open_papers(collection, chosen)
    encoder = load_encoder(opened, model) if why else None
    found = rank(opened, encoder, to, k, mode=mode, filter=chosen)
    print_rankings("similar", opened, [found], mode, as_json=as_json)

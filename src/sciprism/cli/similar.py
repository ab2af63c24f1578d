"""`sciprism similar`: papers like a paper of the collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer


def similar(
    collection: Annotated[Path, typer.Argument(help="A folder made by `sciprism embed`.")],
    to: Annotated[str, typer.Option("--to", help="The id of the paper.")],
    k: Annotated[int, typer.Option("-k", help="Papers to show.")] = 10,
    mode: Annotated[str, typer.Option(help="exact or approximate.")] = "exact",
    year: Annotated[
        str, typer.Option(help="Only papers of these years: 1997, 1990-2000, 1990-, -2000.")
    ] = "",
    venue: Annotated[str, typer.Option(help="Only papers whose venue contains this.")] = "",
    field: Annotated[str, typer.Option(help="Only papers of this field.")] = "",
    why: Annotated[bool, typer.Option(help="Show the nearest sentence; --no-why loads no model.")] = True,
    model: Annotated[str, typer.Option(help="Where the collection's model lies, if it was moved.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Rank the papers of a collection that are nearest to one of them.

    Example: sciprism similar vecs/ --to watson-crick-1953 -k 5
    """
    from sciprism.cli.ranked_list import filter_of, print_rankings
    from sciprism.cli.stored_model import load_encoder_of
    from sciprism.store import Collection
    from sciprism.uses.similar import similar as rank

    chosen = filter_of(year, venue, field)
    opened = Collection.open(collection)
    encoder = load_encoder_of(opened, model) if why else None
    kind = cast("Literal['exact', 'approximate']", mode)
    print_rankings(opened, [rank(opened, encoder, to, k, mode=kind, filter=chosen)], mode, as_json)

"""Papers of a collection by id or title, and the papers nearest to a name that none has."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.similar_names import rank_similar

if TYPE_CHECKING:
    from sciprism.store.collection import StoredCollection

SHOWN = 3
"""Papers that a message names."""
MAX_TITLE = 80
"""Characters of a title in a message."""


def find_paper(collection: StoredCollection, name: str) -> int:
    """Return the row of the paper with an id, else of the one with this title, whose case does not count.

    Raises InputError with the nearest papers, or with the ids of several papers of the title.
    """
    if (row := collection.find_row(name)) is not None:
        return row
    wanted = _fold(name)
    same = [
        id
        for ids, titles in _names(collection)
        for id, title in zip(ids, titles, strict=True)
        if _fold(title) == wanted
    ]
    if not same:
        raise InputError(describe_unknown(collection, name, "the id or title"))
    if len(same) > 1:
        more = f" and {len(same) - SHOWN:,} more" if len(same) > SHOWN else ""
        ids = ", ".join(map(repr, same[:SHOWN])) + more
        raise InputError(f"{len(same):,} papers of {collection.folder} have the title {name!r}; name an id: {ids}")
    return collection.find(same[0])


def describe_unknown(collection: StoredCollection, name: str, what: str = "the id") -> str:
    """Return that no paper has a name, with the papers whose id or title is nearest; one shard is read at a time."""
    best: dict[str, tuple[float, str]] = {}
    for ids, titles in _names(collection):
        for column in (ids, titles):
            for score, position in rank_similar(name, column, SHOWN):
                best[ids[position]] = max(best.get(ids[position], (0.0, "")), (score, titles[position]))
        best = dict(sorted(best.items(), key=lambda item: -item[1][0])[:SHOWN])
    near = "; ".join(f"{id!r} ({shorten(title, MAX_TITLE, placeholder=' ...')})" for id, (_, title) in best.items())
    return f"{collection.folder} has no paper with {what} {name!r}; the nearest: {near or 'none, it is empty'}"


def _names(collection: StoredCollection) -> Iterator[tuple[list[str], list[str]]]:
    """Yield ids and titles of the papers, shard by shard, without superseded rows."""
    live, first = collection.mask(), 0
    for ids, titles in collection.columns("id", "title"):
        retained = range(len(ids)) if live is None else live[first : first + len(ids)].nonzero()[0].tolist()
        yield [ids[i] for i in retained], [titles[i] for i in retained]
        first += len(ids)


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())

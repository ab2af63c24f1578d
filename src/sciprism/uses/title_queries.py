"""Titles of a collection's papers as queries, to measure an approximate search with what people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sciprism.index.recall import TitleQueries, choose_papers
from sciprism.store import StoredCollection
from sciprism.uses.search import choose_query_space

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


def encode_titles(collection: StoredCollection, encoder: Encoder) -> dict[str, TitleQueries]:
    """Return the space of queries -> the titles of randomly chosen papers, encoded as queries.

    Raises InputError where the collection has no vectors that compare with queries.
    """
    format, space = choose_query_space(collection.manifest.spaces, collection.folder, encoder)
    titles = [paper.title for paper in collection.papers(choose_papers(collection, 1)) if paper.title]
    return {space: TitleQueries(titles, encoder.encode(titles, format=format, role="query"))} if titles else {}

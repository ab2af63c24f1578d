"""Queries in words for the lexical weights of a pushed collection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.databases.database import VectorDatabase
from sciprism.databases.record import RemoteRecord, TextMap
from sciprism.index.term_weights import SparseVector, Terms, weigh_queries

KIND = "term"
"""The map of terms: the number of each, and how many papers have it."""
UNLISTED = 1
"""Papers that have a term that the map does not list; if none has it, its weight does not matter."""


def name_term(term: int) -> str:
    """Return the name of a term in the map."""
    return f"{term:x}"


def weigh_words(
    database: VectorDatabase, name: str, record: RemoteRecord, queries: Sequence[str]
) -> list[SparseVector]:
    """Return the lexical weights of queries, from how many papers have each of their words."""
    assert record.lexical is not None
    frequencies = TextMap(database, name, KIND, record.buckets[KIND])

    def find(terms: Terms) -> NDArray[np.uint32]:
        names = [name_term(term) for term in terms.tolist()]
        found = frequencies.read(names)
        return np.array([found.get(name, UNLISTED) for name in names], np.uint32)

    return weigh_queries(queries, record.lexical.documents, find)

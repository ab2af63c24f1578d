"""All papers of a collection part by part, in the order of their rows: neither superseded nor deleted ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.papers.records import Paper
from sciprism.store.collection import StoredCollection

READ_ROWS = 4096
"""Papers that are read at once."""


def list_ids(stored: StoredCollection) -> list[str]:
    """List the ids of all papers."""
    parts = zip(stored.columns("id"), _rows_by_shard(stored), strict=True)
    return [ids[row] for (ids,), rows in parts for row in rows]


def iterate_papers(stored: StoredCollection) -> Iterator[list[Paper]]:
    """Yield all papers in parts."""
    for start in range(0, len(stored.live), READ_ROWS):
        yield stored.papers(stored.live[start : start + READ_ROWS])


def iterate_vectors(stored: StoredCollection, space: str) -> Iterator[Floats]:
    """Yield the vectors of all papers shard by shard, float32 (b, d)."""
    for matrix, rows in zip(stored.vectors(space), _rows_by_shard(stored), strict=True):
        yield matrix.take(rows)


def number_papers(stored: StoredCollection) -> Rows:
    """Return row -> the number of its paper among all papers, -1 for a row without one."""
    numbers = np.full(stored.rows, -1, np.int64)
    numbers[stored.live] = np.arange(len(stored.live))
    return numbers


def _rows_by_shard(stored: StoredCollection) -> Iterator[Rows]:
    """Yield the rows of papers, numbered in their shard."""
    first = 0
    for shard in stored.manifest.shards:
        start, stop = np.searchsorted(stored.live, (first, first + shard.rows))
        yield stored.live[start:stop] - first
        first += shard.rows

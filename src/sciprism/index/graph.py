"""A graph of neighbours (HNSW) in memory: fast for collections whose vectors fit there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.index.build_record import IndexChecks, Settings
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for
from sciprism.index.faiss_files import import_faiss, metric_of, read_index, write_index
from sciprism.index.recall import K, double
from sciprism.store import StoredCollection

LINKS = 32
"""Neighbours of a node of the graph."""
MAX_EFFORT = 4096
"""The most nodes that a search keeps: beyond that exact search is as fast."""


def count_bytes(rows: int, dim: int) -> int:
    """Return the memory of a graph in bytes: its vectors in float32, and links in both directions."""
    return rows * (4 * dim + 8 * LINKS + 32)


def build(
    collection: StoredCollection, space: str, path: Path, progress: Callable[[str, str, int, int | None], None]
) -> None:
    """Build the graph of a space in memory, and write it to a file."""
    faiss = import_faiss()
    distance = collection.manifest.encoder.distance
    index = faiss.IndexHNSWFlat(collection.manifest.spaces[space].dim, LINKS, metric_of(distance))
    for shard in collection.vectors(space):
        index.add(normalize_for(shard.block(0, len(shard)), distance))
        progress(f"graph ({space})", "vectors", index.ntotal, collection.rows)
    write_index(index, path)


class Graph:
    """A graph that was read into memory. Effort: the nodes that a search keeps (ef)."""

    depths: tuple[int, ...] = (K + EXTRA_CANDIDATES,)
    """Its scores are those of float32 vectors: few candidates need be scored again."""

    def __init__(self, path: Path, checks: IndexChecks | None = None) -> None:
        if checks is not None:
            checks.check_whole()
        self._index = read_index(path)
        if not isinstance(self._index, import_faiss().IndexHNSW):
            raise InputError(f"{path} holds no graph")
        self.efforts = double(LINKS, min(MAX_EFFORT, max(LINKS, self._index.ntotal)))

    @property
    def settings(self) -> Settings:
        """Return the links of a node."""
        return {"links": LINKS}

    def find(self, queries: Floats, depth: int, effort: int, selector: Any = None) -> Rows:
        """Return the candidates of each query (m, d): rows (m, depth), nearest first, -1 for none."""
        params = import_faiss().SearchParametersHNSW(efSearch=self.widen(effort, depth), sel=selector)
        rows: Rows = self._index.search(queries, depth, params=params)[1]
        return rows

    def widen(self, effort: int, depth: int) -> int:
        """Return the effort that so many candidates need, at least the given one."""
        return max(effort, depth)

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return what a search costs, to compare efforts; it is nearly the same for all queries."""
        del queries
        return float(self.widen(effort, depth))

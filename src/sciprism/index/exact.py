"""Searches by vectors: their registry, and exact search, a matrix product in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows, inner_products, torch_is_loaded
from sciprism.index.int8_copy import MAX_BYTES, MIN_ROWS, QUERIES, Int8Copy, find_int8_product
from sciprism.parallel import count_threads, map_threads
from sciprism.registry import Registry
from sciprism.store import Matrix, StoredCollection
from sciprism.store.collection import ShardMatrices

Distance = Literal["cosine", "dot", "euclidean"]

BLOCK = 2048  # rows per matrix product: more would exceed the cache, fewer would cost time between the products
QUERY_BLOCK = 512  # queries per matrix product: with BLOCK this bounds the scores of one core to 4 MiB
EXTRA_CANDIDATES = 16  # candidates beyond k, which are scored again in double precision
MAX_GATHERED = 1 << 16  # rows that `rescore` holds in memory at once
QUICK_SCORES = 1 << 22  # up to which torch's import would take longer than the search by numpy
QUICK_SHARDS = 64  # that numpy maps, which keeps a file handle of each
SEARCHES = 8  # of a space before it is copied: a copy takes the time that some 16 searches save, 60 with AVX2 alone
_copies: WeakKeyDictionary[StoredCollection, dict[str, Int8Copy | int]] = WeakKeyDictionary()  # or searches, by space
_copying = Lock()
VectorSearch = Callable[[StoredCollection, str, Floats, int, NDArray[np.bool_] | None], tuple[Floats, Rows]]
"""Collection, space, query vectors (m, d), k and mask -> scores and rows (m, k), as `exact.topk`."""

vector_searches: Registry[VectorSearch] = Registry("search mode")


@vector_searches.register("exact")
def search(
    collection: StoredCollection, space: str, queries: Floats, k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Return the k best rows of a space for each query, as `topk`; after `SEARCHES` from an int8 copy."""
    distance, shards = collection.manifest.encoder.distance, collection.vectors(space)
    with _copying:
        copies = _copies.setdefault(collection, {})
        copy = copies.get(space, 0)
        if isinstance(copy, int):
            small = MIN_ROWS <= collection.rows <= MAX_BYTES // collection.manifest.spaces[space].dim
            due = copy >= SEARCHES and small and find_int8_product()
            copies[space] = copy = Int8Copy(shards, distance) if due else copy + 1
    copied = copy if isinstance(copy, Int8Copy) else None
    return topk(queries, shards, k, mask=mask, distance=distance, copy=copied)


def topk(
    queries: Floats,
    shards: Sequence[Matrix],
    k: int,
    *,
    mask: NDArray[np.bool_] | None = None,
    distance: Distance = "cosine",
    copy: Int8Copy | None = None,
) -> tuple[Floats, Rows]:
    """Return the k best rows of each query (m, d): scores (m, k), best first, and rows (m, k).

    Rows are numbered through all shards; mask (rows,) is False for excluded rows. Ties go to the lower row.
    With fewer than k rows the rest is -inf and row -1. Scores are cosines, inner products or negative
    distances, so more is always better. copy: of the same shards and distance; the result is the same, sooner.
    """
    if k < 1:
        raise ValueError(f"k is {k}, not a positive number")
    parts, step = [], QUERIES if copy else QUERY_BLOCK
    for part in np.split(queries, range(step, len(queries), step)):
        score = partial(rescore, part, shards, k=k, distance=distance)
        rows = copy.candidates(normalize_for(part, distance), k, mask, score) if copy else None
        if rows is None:
            rows = _candidates(part, shards, k + EXTRA_CANDIDATES, mask, distance)
        parts.append(rescore(part, shards, rows, k, distance))
    return np.concatenate([scores for scores, _ in parts]), np.concatenate([rows for _, rows in parts])


def rescore(queries: Floats, shards: Sequence[Matrix], rows: Rows, k: int, distance: Distance) -> tuple[Floats, Rows]:
    """Score candidate rows (m, c), -1 for none, in double precision and return the k best of each query.

    The last digits of a large matrix product depend on threads and blocks; these scores do not.
    """
    scores = np.full((len(queries), k), -np.inf, np.float32)
    best = np.full((len(queries), k), -1, np.int64)
    if not (rows >= 0).any():
        return scores, best
    step = max(1, MAX_GATHERED // max(1, rows.shape[1]))
    for start in range(0, len(queries), step):
        part = rows[start : start + step]
        found = part[part >= 0]
        ends = np.cumsum((part >= 0).sum(axis=1))[:-1]
        parts = zip(queries[start:], np.split(_gather(shards, found), ends), np.split(found, ends), strict=False)
        for i, (query, vectors, candidates) in enumerate(parts, start):
            exact = similarity(query, vectors, distance).astype(np.float32)
            order = np.lexsort((candidates, -exact))[:k]
            scores[i, : len(order)], best[i, : len(order)] = exact[order], candidates[order]
    return scores, best


def sample_rows(collection: StoredCollection, size: int, seed: int) -> Rows:
    """Return the rows of so many random papers, or of all, ascending."""
    rows = collection.live
    return rows if len(rows) <= size else np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))


def similarity(query: Floats, vectors: Floats, distance: Distance) -> NDArray[np.float64]:
    """Score one query (d,) against vectors (n, d) in double precision -> (n,); more is better."""
    q, x = query.astype(np.float64), vectors.astype(np.float64)
    scores: NDArray[np.float64] = (
        -np.sqrt(((x - q) ** 2).sum(axis=1)) if distance == "euclidean" else (x * q).sum(axis=1)
    )
    if distance == "cosine":
        lengths = np.sqrt((x**2).sum(axis=1) * (q**2).sum())
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores


def _row_ends(shards: Sequence[Matrix]) -> Rows:
    """Return the number of rows up to the end of each shard; those of a collection are known without its files."""
    return shards.ends if isinstance(shards, ShardMatrices) else np.cumsum([len(shard) for shard in shards], dtype=int)


def _gather(shards: Sequence[Matrix], rows: Rows) -> Floats:
    """Return the vectors of rows (n,) from all shards."""
    ends = _row_ends(shards)
    owners = np.searchsorted(ends, rows, "right")
    vectors = np.empty((len(rows), shards[0].dim), np.float32)
    for shard in np.unique(owners):
        positions = np.flatnonzero(owners == shard)
        matrix = shards[shard]
        vectors[positions] = matrix.take(rows[positions] - (ends[shard] - len(matrix)))
    return vectors


def _candidates(
    queries: Floats, shards: Sequence[Matrix], k: int, mask: NDArray[np.bool_] | None, distance: Distance
) -> Rows:
    """Return the k best rows of each query, up to rounding. Each core scans its own run of blocks.

    Cores that shared each product would wait for each other after every block.
    """
    left = normalize_for(queries, distance)
    first_rows = np.concatenate([[0], _row_ends(shards)])
    blocks = [(i, start) for i, size in enumerate(np.diff(first_rows)) for start in range(0, int(size), BLOCK)]
    quick = not torch_is_loaded() and len(shards) <= QUICK_SHARDS and len(queries) * first_rows[-1] <= QUICK_SCORES
    size = max(1, len(blocks) if quick else -(-len(blocks) // count_threads()))
    runs = [blocks[start : start + size] for start in range(0, len(blocks), size)] or [[]]
    opened = list(shards)  # now: later, what a shard keeps in memory would fragment the heap between scores of blocks

    def scan(part: list[tuple[int, int]]) -> tuple[Floats, Rows]:
        best = _TopK(len(queries), k)
        for i, start in part:
            block = opened[i].block(start, start + BLOCK)
            first = int(first_rows[i]) + start
            allowed = None if mask is None else mask[first : first + len(block)]
            if allowed is None or allowed.any():
                scores = _multiply(left, block)
                if distance == "cosine":
                    scores /= np.maximum(opened[i].lengths(start, block), np.finfo(np.float32).tiny)
                elif distance == "euclidean":  # -|q - x|^2 / 2 + |q|^2 / 2
                    scores -= opened[i].lengths(start, block) ** 2 / 2
                if allowed is not None:
                    np.copyto(scores, -np.inf, where=~allowed)
                best.add(scores, first)
        return best.ranked()

    scores, rows = (
        np.concatenate(parts, axis=1) for parts in zip(*(map if quick else map_threads)(scan, runs), strict=True)
    )
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return np.take_along_axis(rows, order, axis=1)


def normalize_for(vectors: Floats, distance: Distance) -> Floats:
    """Scale vectors (n, d) to length 1 where the distance is the cosine; a zero vector stays zero."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    if distance != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def _multiply(queries: Floats, block: Floats) -> Floats:
    """Multiply (m, d) with (b, d) -> (m, b)."""
    if len(queries) == 1:
        one: Floats = np.einsum("bd,d->b", block, queries[0])[None]  # half to four fifths of the time of torch's
        return one
    if not torch_is_loaded():
        plain: Floats = queries @ block.T
        return plain
    import torch

    product: Floats = inner_products(torch.from_numpy(queries), torch.from_numpy(block)).numpy()
    return product


class _TopK:
    """The running k best rows of each query; a row must beat the k-th, so ties go to the lower row.

    Its arrays are allocated once: new ones between the large scores of blocks would fragment the heap.
    """

    def __init__(self, queries: int, k: int) -> None:
        self._scores = np.full((queries, k), -np.inf, np.float32)
        self._rows = np.full((queries, k), -1, np.int64)
        room = 2 * queries * k
        self._new = (np.empty(room, np.int64), np.empty(room, np.float32), np.empty(room, np.int64))
        self._pending = 0

    def add(self, scores: Floats, first_row: int) -> None:
        """Add the scores (m, b) of the rows from first_row on."""
        k = self._scores.shape[1]
        beats = scores > self._scores[:, -1:]
        places = np.flatnonzero(beats)
        if len(places) > 8 * self._scores.size and k < scores.shape[1]:
            # the first block, or one that is better throughout: only its own k best can matter
            floor = np.partition(scores, -k, axis=1)[:, [-k]]
            places = np.flatnonzero(beats & (scores >= floor))
        query, column = np.divmod(places, scores.shape[1])
        new = (query, scores.ravel()[places], column + first_row)
        end = self._pending + len(places)
        if end > len(self._new[0]):
            self._merge(new)
            return
        into = slice(self._pending, end)
        self._new[0][into], self._new[1][into], self._new[2][into] = new
        self._pending = end
        if end >= self._scores.size:
            self._merge()

    def ranked(self) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k), best first, -inf and -1 where there are fewer than k."""
        self._merge()
        return self._scores, self._rows

    def _merge(self, *more: tuple[Rows, Floats, Rows]) -> None:
        count, k = self._scores.shape
        best_so_far = (np.repeat(np.arange(count), k), self._scores.ravel(), self._rows.ravel())
        pending = tuple(room[: self._pending] for room in self._new)
        query, scores, rows = (np.concatenate(arrays) for arrays in zip(best_so_far, pending, *more, strict=True))
        order = np.lexsort((rows, -scores, query))
        starts = np.searchsorted(query[order], np.arange(count))
        best = order[starts[:, None] + np.arange(k)]
        self._scores[:], self._rows[:] = scores[best], rows[best]
        self._pending = 0

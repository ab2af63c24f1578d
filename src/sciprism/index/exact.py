"""Exact search: blocks of a matrix product with a running list of the best rows of each query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.cores import on_all_cores
from sciprism.index.matmul import inner_products
from sciprism.store.matrix import Matrix

Distance = Literal["cosine", "dot", "euclidean"]

BLOCK = 2048
"""Rows multiplied at once: more would leave the cache, fewer would cost time between the products."""
QUERIES = 512
"""Queries multiplied at once: with BLOCK this bounds the scores of one core to 4 MiB."""
SPARE = 16
"""Rows kept beyond k until scores are computed a second time, in double precision."""
GATHER = 1 << 16
"""Rows that the second computation holds in memory at once."""


def topk(
    queries: Floats,
    shards: Sequence[Matrix],
    k: int,
    *,
    mask: NDArray[np.bool_] | None = None,
    distance: Distance = "cosine",
) -> tuple[Floats, Rows]:
    """Find the k best rows of each query (m, d): scores (m, k), best first, and rows (m, k).

    Rows count through all shards; mask (rows,) leaves some out. Ties go to the lower row. Where there are
    fewer than k rows, the rest is -inf and row -1.
    Scores are cosines, inner products, or distances with a minus sign, so more is always better.
    """
    if k < 1:
        raise ValueError(f"k is {k}, not a positive number")
    parts = [
        rescore(part, shards, _candidates(part, shards, k + SPARE, mask, distance), k, distance)
        for part in np.split(queries, range(QUERIES, len(queries), QUERIES))
    ]
    return np.concatenate([scores for scores, _ in parts]), np.concatenate([rows for _, rows in parts])


def rescore(
    queries: Floats, shards: Sequence[Matrix], rows: Rows, k: int, distance: Distance
) -> tuple[Floats, Rows]:
    """Score candidate rows (m, c), -1 for none, in double precision and keep the k best of each query.

    What a product of large matrices gives depends, in the last digits, on threads and blocks; this does not.
    """
    scores = np.full((len(queries), k), -np.inf, np.float32)
    best = np.full((len(queries), k), -1, np.int64)
    if not (rows >= 0).any():
        return scores, best
    step = max(1, GATHER // max(1, rows.shape[1]))
    for start in range(0, len(queries), step):
        part = rows[start : start + step]
        vectors = _take(shards, part.ravel()).reshape(*part.shape, -1)
        for i, (query, mine, found) in enumerate(zip(queries[start:], vectors, part, strict=False), start):
            exact = np.where(found >= 0, similarity(query, mine, distance), -np.inf).astype(np.float32)
            order = np.lexsort((found, -exact))[:k]
            order = order[found[order] >= 0]
            scores[i, : len(order)], best[i, : len(order)] = exact[order], found[order]
    return scores, best


def similarity(query: Floats, vectors: Floats, distance: Distance) -> NDArray[np.float64]:
    """Score one query (d,) against vectors (n, d) -> (n,) in double precision; more is better."""
    q, x = query.astype(np.float64), vectors.astype(np.float64)
    scores: NDArray[np.float64]
    if distance == "euclidean":
        scores = -np.sqrt(((x - q) ** 2).sum(axis=1))
        return scores
    scores = (x * q).sum(axis=1)
    if distance == "cosine":
        lengths = np.sqrt((x**2).sum(axis=1) * (q**2).sum())
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores


def _take(shards: Sequence[Matrix], rows: Rows) -> Floats:
    """Gather rows (n,) from all shards; -1 gives the first."""
    ends = np.cumsum([len(shard) for shard in shards])
    owners = np.searchsorted(ends, np.maximum(rows, 0), "right")
    vectors = np.empty((len(rows), shards[0].dim), np.float32)
    for shard in np.unique(owners):
        places = np.flatnonzero(owners == shard)
        first = ends[shard] - len(shards[shard])
        vectors[places] = shards[shard].take(np.maximum(rows[places], 0) - first)
    return vectors


def _candidates(
    queries: Floats, shards: Sequence[Matrix], k: int, mask: NDArray[np.bool_] | None, distance: Distance
) -> Rows:
    """Find the k best rows of each query up to rounding: each core takes one run of blocks, then they unite.

    Cores that shared every product would wait for each other after every block.
    """
    left = torch.from_numpy(prepared(queries, distance))
    first_rows = np.cumsum([0, *(len(shard) for shard in shards)])
    blocks = [(i, start) for i, shard in enumerate(shards) for start in range(0, len(shard), BLOCK)]

    def scan(part: list[tuple[int, int]]) -> tuple[Floats, Rows]:
        best = _Best(len(queries), k)
        for i, start in part:
            block = shards[i].block(start, start + BLOCK)
            first = int(first_rows[i]) + start
            allowed = None if mask is None else mask[first : first + len(block)]
            if allowed is None or allowed.any():
                scores = _similarities(left, torch.from_numpy(block), distance)
                if allowed is not None:
                    scores.masked_fill_(torch.from_numpy(~allowed), -torch.inf)
                best.add(scores, first)
        return best.ranked()

    scores, rows = (
        np.concatenate(found, axis=1) for found in zip(*on_all_cores(scan, _runs(blocks)), strict=True)
    )
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return np.take_along_axis(rows, order, axis=1)


def _runs(blocks: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Cut the blocks into one run for each core, at least one."""
    size = max(1, -(-len(blocks) // torch.get_num_threads()))
    return [blocks[start : start + size] for start in range(0, len(blocks), size)] or [[]]


def prepared(queries: Floats, distance: Distance) -> Floats:
    """Scale vectors (n, d) to length 1 where the distance is the cosine; a zero vector stays zero."""
    queries = np.ascontiguousarray(queries, np.float32)
    if distance != "cosine":
        return queries
    lengths = np.linalg.norm(queries, axis=1, keepdims=True)
    unit: Floats = queries / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def _similarities(queries: torch.Tensor, block: torch.Tensor, distance: Distance) -> torch.Tensor:
    """Score (m, d) against (b, d) -> (m, b) up to what is equal for all rows of one query."""
    scores = inner_products(queries, block)
    if distance != "dot":
        lengths = torch.linalg.vector_norm(block, dim=1)
        if distance == "cosine":
            scores /= lengths.clamp_min(torch.finfo(torch.float32).tiny)
        else:
            scores -= lengths.square() / 2  # -|q - x|^2 / 2 + |q|^2 / 2
    return scores


class _Best:
    """The k best rows so far of each query.

    A row enters only by beating the k-th, so ties go to the lower row.
    """

    def __init__(self, queries: int, k: int) -> None:
        self._scores = np.full((queries, k), -np.inf, np.float32)
        self._rows = np.full((queries, k), -1, np.int64)
        self._new: list[tuple[Rows, Floats, Rows]] = []
        self._waiting = 0

    def add(self, scores: torch.Tensor, first_row: int) -> None:
        """Take in the scores (m, b) of the rows from first_row on."""
        k = self._scores.shape[1]
        beats = scores > torch.from_numpy(self._scores[:, -1:])
        found = np.flatnonzero(beats.numpy())  # several times faster than torch's
        if len(found) > 8 * self._scores.size and k < scores.shape[1]:
            # The first block, or one that is better throughout: only its own k best can matter.
            floor = torch.topk(scores, k).values[:, -1:]
            found = np.flatnonzero((beats & (scores >= floor)).numpy())
        query, column = np.divmod(found, scores.shape[1])
        self._new.append((query, scores.numpy().ravel()[found], column + first_row))
        self._waiting += len(found)
        if self._waiting >= self._scores.size:
            self._merge()

    def ranked(self) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k), best first, -inf and -1 where there are fewer than k."""
        self._merge()
        return self._scores, self._rows

    def _merge(self) -> None:
        count, k = self._scores.shape
        own = np.repeat(np.arange(count), k)
        query = np.concatenate([own, *(q for q, _, _ in self._new)])
        scores = np.concatenate([self._scores.ravel(), *(s for _, s, _ in self._new)])
        rows = np.concatenate([self._rows.ravel(), *(r for _, _, r in self._new)])
        order = np.lexsort((rows, -scores, query))
        starts = np.searchsorted(query[order], np.arange(count))
        kept = order[starts[:, None] + np.arange(k)]
        self._scores, self._rows = scores[kept], rows[kept]
        self._new, self._waiting = [], 0

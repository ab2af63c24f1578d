"""Nearest neighbours of papers by cosine: exact, block by block."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import Rows

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 32
"""Queries whose scores one worker holds at a time: 128 MB with a million papers."""


def rows_with_vectors(vectors: NDArray[np.float32]) -> Rows:
    """Return the rows with a nonzero vector; the others have no neighbours and are none."""
    return np.flatnonzero(vectors.any(axis=1)).astype(np.int32)


def nearest_neighbours(vectors: NDArray[np.float32], queries: Rows, count: int, *, workers: int = 1) -> Iterator[Rows]:
    """Yield the rows of the `count` nearest neighbours of each query row, nearest first, (count,).

    vectors: (n, dim), unit or zero. Rows with equal scores come in ascending order; a row is not its own
    neighbour. workers: threads; any number gives the same bytes. Raises InputError if a query has no vector,
    or if there are fewer neighbours.
    """
    import torch

    others = rows_with_vectors(vectors)
    if workers < 1:
        raise InputError(f"{workers} workers; at least 1 is needed")
    if not 1 <= count < len(others):
        raise InputError(
            f"{count} neighbours requested; the graph has {len(others)} papers with citations, "
            f"so a paper has {max(0, len(others) - 1)} neighbours"
        )
    if not np.isin(queries, others).all():
        raise InputError("a query without a vector has no neighbours; drop papers without citations")
    candidates = torch.from_numpy(vectors if len(others) == len(vectors) else vectors[others])
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            waiting = deque[Future[list[Rows]]]()
            for start in range(0, len(queries), BLOCK):
                positions = np.searchsorted(others, queries[start : start + BLOCK])
                waiting.append(pool.submit(_nearest, candidates, positions, count))
                if len(waiting) > workers:
                    yield from (others[each] for each in waiting.popleft().result())
            while waiting:
                yield from (others[each] for each in waiting.popleft().result())
    finally:
        torch.set_num_threads(threads)


def _nearest(candidates: Tensor, positions: NDArray[np.int64], count: int) -> list[Rows]:
    import torch

    found = []
    filled = np.resize(positions, BLOCK)  # products of one shape: a score has the same bits in every block
    for position, scores in zip(positions.tolist(), candidates[filled] @ candidates.T, strict=False):
        scores[position] = -torch.inf
        lowest = torch.topk(scores, count, sorted=False).values.min()
        near = torch.nonzero(scores >= lowest)[:, 0]  # ascending: equal scores stay in the order of the rows
        order = torch.sort(scores[near], descending=True, stable=True).indices[:count]
        found.append(near[order].numpy())
    return found

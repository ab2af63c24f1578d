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
"""Queries whose scores are held at a time by one worker: 128 MB with a million papers."""


def able(vectors: NDArray[np.float32]) -> Rows:
    """Return the rows that have a vector: the others are nobody's neighbours and have none."""
    return np.flatnonzero(vectors.any(axis=1)).astype(np.int32)


def nearest(vectors: NDArray[np.float32], queries: Rows, first: int, *, workers: int = 1) -> Iterator[Rows]:
    """Yield the rows of the `first` nearest neighbours of each query row, nearest first, (first,).

    vectors: (n, dim), unit or zero. A band of ranks is a slice; a row that is not there is not among the
    first. Of rows that score alike the lower comes first; a row is not its own neighbour. workers: threads;
    any number gives the same bytes. Raises InputError where a query has no vector, or where there are not so
    many neighbours.
    """
    import torch

    others = able(vectors)
    if workers < 1:
        raise InputError(f"{workers} workers; at least 1 is needed")
    if not 1 <= first < len(others):
        raise InputError(
            f"{first} neighbours asked for; the graph has {len(others)} papers with citations, "
            f"so a paper has {max(0, len(others) - 1)} neighbours"
        )
    if not np.isin(queries, others).all():
        raise InputError("a query without a vector has no neighbours; leave out papers without citations")
    candidates = torch.from_numpy(vectors if len(others) == len(vectors) else vectors[others])
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            waiting = deque[Future[list[Rows]]]()
            for start in range(0, len(queries), BLOCK):
                places = np.searchsorted(others, queries[start : start + BLOCK])
                waiting.append(pool.submit(_nearest, candidates, places, first))
                if len(waiting) > workers:
                    yield from (others[each] for each in waiting.popleft().result())
            while waiting:
                yield from (others[each] for each in waiting.popleft().result())
    finally:
        torch.set_num_threads(threads)


def _nearest(candidates: Tensor, places: NDArray[np.int64], first: int) -> list[Rows]:
    import torch

    found = []
    filled = np.resize(places, BLOCK)  # products of one shape: a score has the same bits in every block
    for place, scores in zip(places.tolist(), candidates[filled] @ candidates.T, strict=False):
        scores[place] = -torch.inf
        least = torch.topk(scores, first, sorted=False).values.min()
        near = torch.nonzero(scores >= least)[:, 0]  # ascending: equal scores stay in the order of the rows
        order = torch.sort(scores[near], descending=True, stable=True).indices[:first]
        found.append(near[order].numpy())
    return found

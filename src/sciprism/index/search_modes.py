"""The modes of search: a registry of searches by vectors, and the fusion of rankings of different searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.registry import Registry
from sciprism.store import StoredCollection

VectorSearch = Callable[[StoredCollection, str, Floats, int, NDArray[np.bool_] | None], tuple[Floats, Rows]]
"""Collection, space, query vectors (m, d), k and mask -> scores and rows (m, k), as `exact.topk`."""

vector_searches: Registry[VectorSearch] = Registry("search mode")


CONSTANT = 60  # smooths the lead of the first ranks; the value of Cormack, Clarke and Buettcher (SIGIR 2009)


def reciprocal_rank_fusion(rankings: Sequence[Rows], k: int, constant: int = CONSTANT) -> tuple[Floats, Rows]:
    """Score each row with the sum of 1 / (constant + rank) over rankings (m, depth); keep the k best.

    Row -1 is none. Ties go to the lower row. With fewer than k rows the rest is -inf and row -1.
    """
    queries = len(rankings[0])
    best = np.full((queries, k), -np.inf, np.float32)
    rows = np.full((queries, k), -1, np.int64)
    for query in range(queries):
        scores: defaultdict[int, float] = defaultdict(float)
        for ranking in rankings:
            for rank, row in enumerate(ranking[query].tolist(), 1):
                if row >= 0:
                    scores[row] += 1 / (constant + rank)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        for rank, (row, score) in enumerate(ranked):
            best[query, rank], rows[query, rank] = score, row
    return best, rows

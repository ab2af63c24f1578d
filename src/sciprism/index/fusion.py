"""Unite rankings of different searches by ranks alone, since their scores do not compare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciprism.arrays import Floats, Rows

CONSTANT = 60
"""What softens the lead of the first ranks; the value of Cormack, Clarke and Buettcher (SIGIR 2009)."""


def reciprocal_rank_fusion(rankings: Sequence[Rows], k: int, constant: int = CONSTANT) -> tuple[Floats, Rows]:
    """Score each row with the sum of 1 / (constant + rank) over rankings (m, depth); keep the k best.

    Row -1 stands for none. Ties go to the lower row. Fewer than k rows: the rest is -inf and row -1.
    """
    queries = len(rankings[0])
    best = np.full((queries, k), -np.inf, np.float32)
    rows = np.full((queries, k), -1, np.int64)
    for query in range(queries):
        scores: dict[int, float] = {}
        for ranking in rankings:
            for rank, row in enumerate(ranking[query].tolist(), 1):
                if row >= 0:
                    scores[row] = scores.get(row, 0.0) + 1 / (constant + rank)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        for place, (row, score) in enumerate(ranked):
            best[query, place], rows[query, place] = score, row
    return best, rows

"""Hybrid search: two rankings of one query, by meaning and by words, become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.index.boolean_query import BOOLEAN_SIGNS
from sciprism.index.lexical import split_words

Item = TypeVar("Item")
Ranked = Sequence[tuple[float, Item]]
"""Items of one ranking with their scores, best first."""
FUSION_DEPTH = 100  # items of each ranking that count
SHARE, SHARE_OF_NAMES = 0.4, 0.7
NAME_WORDS = 3  # at most, of a query that is a name
CONSTANTS = (FUSION_DEPTH, SHARE, SHARE_OF_NAMES, NAME_WORDS)  # all that decides how scores are fused


def choose_share(query: str) -> float:
    """Return the weight of words in a query: more in a short or quoted one, a name (results/fusion.json)."""
    return SHARE_OF_NAMES if len(split_words(query)) <= NAME_WORDS or BOOLEAN_SIGNS.search(query) else SHARE


def scale(scores: ArrayLike, floor: float | None = None) -> Doubles:
    """Scale scores (n,) to 1 for the best and 0 for the `FUSION_DEPTH`-th and lower ones, or for the last.

    floor: the score that has 0 where there are fewer.
    """
    each = np.asarray(scores, np.float64)
    best = np.sort(each)[::-1][:FUSION_DEPTH]
    low = best[-1] if floor is None or len(best) == FUSION_DEPTH else floor
    return np.maximum(0, each - low) / (best[0] - low or 1)


def fuse(meaning: Ranked[Item], words: Ranked[Item], share: float, k: int) -> list[tuple[float, Item]]:
    """Return the k best items of two rankings by the mean of both scaled scores, in which words have a share.

    Where few items have words, 0 is for those that have none. Ties go to the item that is nearer in meaning.
    """
    fused: dict[Item, float] = {}
    for ranking, weight, floor in ((meaning, 1 - share, None), (words, share, 0)):
        scaled = scale([score for score, _ in ranking], floor) if ranking else ()
        for (_, item), score in zip(ranking, scaled, strict=True):
            fused[item] = fused.get(item, 0) + weight * float(score)
    best = sorted(fused.items(), key=lambda pair: -pair[1])[:k]
    return [(score, item) for item, score in best]


def fuse_searches(
    queries: Sequence[str], meaning: tuple[Floats, Rows], words: tuple[Floats, Rows], k: int
) -> tuple[Floats, Rows]:
    """Fuse the rankings of queries, of at least `FUSION_DEPTH` rows each: scores and rows (m, k), as `exact.topk`."""
    scores, rows = np.full((len(queries), k), -np.inf, np.float32), np.full((len(queries), k), -1, np.int64)
    for number, query in enumerate(queries):
        ranked: list[Ranked[int]] = [
            [(score, row) for score, row in zip(*(found[number].tolist() for found in part), strict=True) if row >= 0]
            for part in (meaning, words)
        ]
        best = fuse(ranked[0], ranked[1], choose_share(query), k)
        scores[number, : len(best)], rows[number, : len(best)] = zip(*best, strict=True) if best else ((), ())
    return scores, rows

"""Item scores of rankings: one value per query and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.metrics.rankings import Ids, grade_rankings, parse_metric

JudgedRanking = tuple[str, tuple[Ids, ArrayLike], Mapping[str, int]]
BLOCK = 512
"""Queries scored at once."""


def score_rankings(
    metrics: Sequence[str],
    query_ids: Sequence[str],
    ranked: Iterable[tuple[Ids, ArrayLike]],
    judged: Iterable[Mapping[str, int]],
) -> dict[str, ItemScores]:
    """Score each query's documents (ids, scores) against its grades; nothing found counts 0.

    Rankings are read in batches: deep ones of many queries would not fit in memory. Raises InputError for a
    document that is ranked twice, or a query without judgements.
    """
    values: dict[str, list[Doubles]] = {name: [] for name in metrics}
    remaining: Iterator[JudgedRanking] = zip(query_ids, ranked, judged, strict=True)
    while part := list(islice(remaining, BLOCK)):
        rankings = grade_rankings({q: run for q, run, _ in part}, {q: grades for q, _, grades in part}, missing="zero")
        if len(rankings.queries) < len(part):
            names = [query for query, _, _ in part]
            bad = next(q for q, _, grades in part if not grades or names.count(q) > 1)
            raise InputError(f"a query is repeated or has no judgement: {bad!r}")
        for name in metrics:
            values[name].append(parse_metric(name)(rankings))
    return {
        name: ItemScores(tuple(query_ids), np.concatenate([np.empty(0), *found])[:, None], aggregate="mean")
        for name, found in values.items()
    }

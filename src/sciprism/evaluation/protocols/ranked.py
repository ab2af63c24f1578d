"""From rankings to evidence: one value per query and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.metrics.rankings import Ids, judge, parse_metric

Judged = tuple[str, tuple[Ids, ArrayLike], Mapping[str, int]]
BLOCK = 512
"""Queries judged at once."""


def check_metrics(protocol: str, metrics: Sequence[str]) -> None:
    """Raise InputError unless at least one ranking metric is named, and all are known."""
    if not metrics:
        raise InputError(f"{protocol}: no metric is named")
    for name in metrics:
        parse_metric(name)


def mean_per_query(
    metrics: Sequence[str],
    query_ids: Sequence[str],
    ranked: Iterable[tuple[Ids, ArrayLike]],
    judged: Iterable[Mapping[str, int]],
) -> dict[str, Evidence]:
    """Score each query's documents (ids, scores) against its grades; nothing found counts 0.

    Rankings are taken some at a time: deep ones of many queries would not fit. Raises InputError for a
    document that is ranked twice, or a query that is not judged.
    """
    values: dict[str, list[Doubles]] = {name: [] for name in metrics}
    for part in _batches(zip(query_ids, ranked, judged, strict=True)):
        rankings = judge({q: run for q, run, _ in part}, {q: grades for q, _, grades in part}, missing="zero")
        if len(rankings.queries) < len(part):
            raise InputError(f"a query stands twice or has no judgement: {_odd(part)!r}")
        for name in metrics:
            values[name].append(parse_metric(name)(rankings))
    return {
        name: Evidence(tuple(query_ids), np.concatenate([np.empty(0), *found])[:, None], aggregate="mean")
        for name, found in values.items()
    }


def _batches(items: Iterable[Judged]) -> Iterator[list[Judged]]:
    walk = iter(items)
    while part := list(islice(walk, BLOCK)):
        yield part


def _odd(part: Sequence[Judged]) -> str:
    names = [query for query, _, _ in part]
    return next(q for q, _, grades in part if not grades or names.count(q) > 1)

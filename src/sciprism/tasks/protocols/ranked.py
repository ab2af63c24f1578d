"""From rankings to evidence: one value per query and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from sciprism.errors import InputError
from sciprism.metrics.rankings import Ids, judge, parse_metric
from sciprism.tasks.evidence import Evidence


def check_metrics(protocol: str, metrics: Sequence[str]) -> None:
    """Raise InputError unless at least one ranking metric is named, and all are known."""
    if not metrics:
        raise InputError(f"{protocol}: no metric is named")
    for name in metrics:
        parse_metric(name)


def mean_per_query(
    metrics: Sequence[str],
    query_ids: Sequence[str],
    ranked: Sequence[tuple[Ids, ArrayLike]],
    judged: Sequence[Mapping[str, int]],
) -> dict[str, Evidence]:
    """Score each query's documents (ids, scores) against its grades; nothing found counts 0.

    Raises InputError for a document that is ranked twice.
    """
    run, qrels = dict(zip(query_ids, ranked, strict=True)), dict(zip(query_ids, judged, strict=True))
    rankings = judge(run, qrels, missing="zero")
    return {
        name: Evidence(rankings.queries, parse_metric(name)(rankings)[:, None], aggregate="mean")
        for name in metrics
    }

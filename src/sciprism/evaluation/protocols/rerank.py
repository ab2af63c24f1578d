"""Rank each query's graded candidates (SciRepEval proximity and search, SciDocs, recommendations)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciprism.datasets.inputs import RerankInput
from sciprism.drop_report import DropReport
from sciprism.evaluation.item_scores import score_rankings
from sciprism.evaluation.protocols.registry import check_metrics, protocols
from sciprism.evaluation.systems import Distance, System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult


@protocols.register("rerank")
@dataclass(frozen=True, slots=True, kw_only=True)
class RerankProtocol:
    """Score each query's candidates by the distance of query and candidate.

    distance: SciDocs and SciRepEval fix the Euclidean one for all encoders. decimals: scores are rounded to
    these digits (5 in SciDocs' run files), which makes ties. Queries without a relevant candidate count 0, as
    in trec_eval; queries without candidates are dropped.
    """

    metrics: tuple[str, ...] = ("map", "ndcg")
    distance: Distance = "euclidean"
    decimals: int | None = None

    def __post_init__(self) -> None:
        check_metrics("rerank", self.metrics)

    def evaluate(self, data: RerankInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Score every pool and average each metric over the queries."""
        dropped = DropReport()
        filled = [i for i, pool in enumerate(data.pools) if len(pool)]
        for i in set(range(len(data.pools))) - set(filled):
            dropped.add("query without candidates", data.query_ids[i])
        queries = [data.queries[i] for i in filled]
        as_query = context.papers(queries) if data.query_role == "paper" else context.queries(queries)
        pools = [data.pools[i] for i in filled]
        scores = system.pool_scores(as_query, context.papers(data.candidates), pools, self.distance)
        if self.decimals is not None:
            scores = [np.round(row, self.decimals) for row in scores]
        item_scores = score_rankings(
            self.metrics,
            [data.query_ids[i] for i in filled],
            ranked=[([data.candidate_ids[c] for c in pool], row) for pool, row in zip(pools, scores, strict=True)],
            judged=[
                dict(zip((data.candidate_ids[c] for c in pool), data.grades[i].tolist(), strict=True))
                | dict(data.absent[i] if data.absent else {})
                for i, pool in zip(filled, pools, strict=True)
            ],
        )
        details = {"queries": len(filled), "pairs": sum(map(len, pools)), "distance": self.distance}
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)

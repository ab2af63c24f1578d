"""Rank documents for queries: each query's graded candidates, or a whole corpus.

"rerank": SciRepEval's proximity and search, SciDocs, recommendations. "retrieve": BEIR, NASA-IR, SciMult's link
retrieval and search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.inputs import RerankInput, RetrievalInput
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import score_rankings
from sciprism.evaluation.systems import Distance, StatedRanks, System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult, check_metrics, protocols
from sciprism.metrics.rankings import parse_metric


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
        as_query = context.queries([data.queries[i] for i in filled], data.query_role)
        pools = [data.pools[i] for i in filled]
        scores: Sequence[NDArray[np.floating]]
        if isinstance(system, StatedRanks):
            scores = system.stated_scores(data, filled)
        else:
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


DEFAULT_DEPTH = 1000  # documents ranked where a metric has no cut-off, as in TREC


@protocols.register("retrieve")
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveProtocol:
    """Rank all documents for every query, to the depth that the metrics need.

    The data decide whether a query is among its own documents (`RetrievalInput.excluded`); in SciMult it is.
    A query without a result or without a relevant document counts 0.
    """

    metrics: tuple[str, ...] = ("ndcg@10",)
    distance: Distance = "encoder"

    def __post_init__(self) -> None:
        check_metrics("retrieve", self.metrics)

    def evaluate(self, data: RetrievalInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Search every query and average each metric over the queries with judgements."""
        dropped = DropReport()
        scored = [i for i, grades in enumerate(data.grades) if len(grades)]
        without_relevant = [i for i in scored if not (data.grades[i] > 0).any()]
        for i in without_relevant:
            dropped.add("query without a relevant document, counts 0", data.query_ids[i])
        if len(without_relevant) == len(scored):
            raise InputError("no query has a relevant document among the documents; check the relevance judgements")
        as_query = context.queries([data.queries[i] for i in scored], data.query_role)
        k = min(max(parse_metric(name)[1] or DEFAULT_DEPTH for name in self.metrics), len(data.documents))
        excluded = None if data.excluded is None else [data.excluded[i] for i in scored]
        scores, rows = system.top(as_query, context.papers(data.documents), k, self.distance, excluded)
        names = data.document_ids
        item_scores = score_rankings(
            self.metrics,
            [data.query_ids[i] for i in scored],
            ranked=(
                ([names[row] for row in mine if row >= 0], best[mine >= 0])
                for mine, best in zip(rows, scores, strict=True)
            ),
            judged=(
                dict(zip((names[row] for row in data.judged[i]), data.grades[i].tolist(), strict=True)) for i in scored
            ),
        )
        details = {"queries": len(scored), "documents": len(names), "depth": k, "distance": self.distance}
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)

"""Rank each query's own judged candidates (SciRepEval proximity and search, SciDocs, recommendations)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciprism.datasets.inputs import Pools
from sciprism.drop_report import DropReport
from sciprism.evaluation.protocols.ranked import check_metrics, mean_per_query
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import Distance, System
from sciprism.evaluation.task import Outcome, View


@protocols.register("rerank")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """Score pools by the distance of query and candidate.

    distance: SciDocs and SciRepEval fix the Euclidean one, whatever the encoder was made for. decimals:
    digits that scores keep before they are compared (5 in SciDocs' run files), which makes ties.
    Queries without a relevant candidate count 0, as trec_eval does; queries without candidates are left out.
    """

    metrics: tuple[str, ...] = ("map", "ndcg")
    distance: Distance = "euclidean"
    decimals: int | None = None

    def __post_init__(self) -> None:
        check_metrics("rerank", self.metrics)

    def evaluate(self, data: Pools, system: System, view: View) -> Outcome:
        """Score every pool and average each metric over the queries."""
        tally = DropReport()
        filled = [i for i, pool in enumerate(data.pools) if len(pool)]
        for i in set(range(len(data.pools))) - set(filled):
            tally.add("query without candidates", data.query_ids[i])
        queries = [data.queries[i] for i in filled]
        as_query = view.papers(queries) if data.query_role == "paper" else view.queries(queries)
        pools = [data.pools[i] for i in filled]
        scores = system.pool_scores(as_query, view.papers(data.candidates), pools, self.distance)
        if self.decimals is not None:
            scores = [np.round(row, self.decimals) for row in scores]
        evidence = mean_per_query(
            self.metrics,
            [data.query_ids[i] for i in filled],
            ranked=[
                ([data.candidate_ids[c] for c in pool], row) for pool, row in zip(pools, scores, strict=True)
            ],
            judged=[
                dict(zip((data.candidate_ids[c] for c in pool), data.grades[i].tolist(), strict=True))
                | dict(data.absent[i] if data.absent else {})
                for i, pool in zip(filled, pools, strict=True)
            ],
        )
        details = {"queries": len(filled), "pairs": sum(map(len, pools)), "distance": self.distance}
        return Outcome(evidence=evidence, details=details, tally=tally)

"""Search a whole corpus (BEIR, NASA-IR, SciMult's link retrieval and search)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sciprism.datasets.inputs import Corpus
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.protocols.ranked import check_metrics, mean_per_query
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import Distance, System, Timed
from sciprism.evaluation.task import Outcome, View
from sciprism.metrics.rankings import depth

FULL = 1000
"""Documents ranked where a metric names no cut-off; the custom of TREC."""


@protocols.register("retrieve")
@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Rank all documents for every query, as deep as the metrics look.

    Whether the query itself is among the documents is the data's choice (`Corpus.excluded`): SciMult leaves
    it there. A query for which nothing is found counts 0, and so does one without a relevant document. The
    details hold the seconds of encoding, of search and of both per query.
    """

    metrics: tuple[str, ...] = ("ndcg@10",)
    distance: Distance = "encoder"

    def __post_init__(self) -> None:
        check_metrics("retrieve", self.metrics)

    def evaluate(self, data: Corpus, system: System, view: View) -> Outcome:
        """Search every query and average each metric over the judged queries."""
        tally = DropReport()
        asked = [i for i, grades in enumerate(data.grades) if len(grades)]
        hopeless = [i for i in asked if not (data.grades[i] > 0).any()]
        for i in hopeless:
            tally.add("query without a relevant document, counts 0", data.query_ids[i])
        if len(hopeless) == len(asked):
            raise InputError("no query has a relevant document among the documents; check the judgements")
        queries = [data.queries[i] for i in asked]
        as_query = view.papers(queries) if data.query_role == "paper" else view.queries(queries)
        k = min(max(depth(name) or FULL for name in self.metrics), len(data.documents))
        excluded = None if data.excluded is None else [data.excluded[i] for i in asked]
        scores, rows = system.top(as_query, view.papers(data.documents), k, self.distance, excluded)
        names = data.document_ids
        evidence = mean_per_query(
            self.metrics,
            [data.query_ids[i] for i in asked],
            ranked=(
                ([names[row] for row in mine if row >= 0], best[mine >= 0])
                for mine, best in zip(rows, scores, strict=True)
            ),
            judged=(
                dict(zip((names[row] for row in data.judged[i]), data.grades[i].tolist(), strict=True))
                for i in asked
            ),
        )
        details: dict[str, Any] = {"queries": len(asked), "documents": len(names), "depth": k}
        details["distance"] = self.distance
        if isinstance(system, Timed):
            details["seconds"] = system.taken.told(len(asked))
        return Outcome(evidence=evidence, details=details, tally=tally)

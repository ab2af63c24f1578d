"""Match submissions with reviewers by the reviewers' papers (SciRepEval, gold standard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Rows
from sciprism.datasets.inputs import MatchInput
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, score_rankings
from sciprism.evaluation.systems import EncodingInput, System, VectorSystem
from sciprism.evaluation.task import EvaluationContext, Positive, ProtocolResult, protocols
from sciprism.metrics.rankings import pair_order, parse_metric
from sciprism.uses.matching.expertise import mean_of_best

PAIRWISE = "pairwise"


@protocols.register("match")
@dataclass(frozen=True, slots=True, kw_only=True)
class MatchProtocol:
    """Score a pair by the mean of the `best` highest cosines of the submission with the reviewer's papers.

    Of a reviewer with fewer papers, all count. A system without vectors, such as BM25, scores papers by itself:
    the mean is over its scores, with the papers of all reviewers as the collection. metrics: a level and a
    ranking metric over each submission's rated reviewers ("hard p@5"), or "pairwise": whether scores order each
    reviewer's submissions as the ratings do. levels: names and the rating from which a reviewer is relevant.
    SciRepEval's grades are 0 to 3; "hard" is 3, "soft" is 2 and above. Pairs of reviewers without papers are
    dropped and counted.
    """

    best: Positive = 3
    metrics: tuple[str, ...] = ("hard p@5", "hard p@10", "soft p@5", "soft p@10")
    levels: tuple[tuple[str, float], ...] = (("hard", 3), ("soft", 2))

    def __post_init__(self) -> None:
        if not self.metrics:
            raise InputError("match: no metric is named")
        thresholds = dict(self.levels)
        for name in (name for name in self.metrics if name != PAIRWISE):
            level, _, metric = name.partition(" ")
            if level not in thresholds:
                raise InputError(
                    f"match: metric {name!r} begins with no level; levels: {', '.join(thresholds)}; or {PAIRWISE}"
                )
            parse_metric(metric)

    def evaluate(self, data: MatchInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Score all pairs once, and each metric by the same scores."""
        dropped = DropReport()
        for number, profile in enumerate(data.profiles):
            if not len(profile):
                dropped.add("reviewer without papers", data.reviewer_ids[number])
        usable = np.array([len(data.profiles[number]) > 0 for _, number in data.pairs], bool)
        pairs, ratings = data.pairs[usable], data.ratings[usable]
        if not len(pairs):
            raise InputError("no rated reviewer has papers; nothing can be matched")
        used = np.unique(np.concatenate([pairs[:, 0], *(data.profiles[j] for j in np.unique(pairs[:, 1]))]))
        papers = context.papers(data.papers).take(used)
        profiles = [np.searchsorted(used, profile) for profile in data.profiles]
        rows = np.stack([np.searchsorted(used, pairs[:, 0]), pairs[:, 1]], axis=1)
        scores = self._score_pairs(system, papers, profiles, rows)
        item_scores = {
            name: _pairwise(data, pairs, ratings, scores, dropped)
            if name == PAIRWISE
            else self._ranked(name, data, pairs, (ratings, scores))
            for name in self.metrics
        }
        details = {
            "submissions": len(np.unique(pairs[:, 0])),
            "reviewers": len(np.unique(pairs[:, 1])),
            "pairs": len(pairs),
            "pairs left out": int((~usable).sum()),
            "best": self.best,
            "distance": "cosine" if isinstance(system, VectorSystem) else "the system's",
        }
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)

    def _score_pairs(self, system: System, papers: EncodingInput, profiles: Sequence[Rows], pairs: Rows) -> Doubles:
        """Score each pair by the mean of the best scores that a system gives a reviewer's papers."""
        written = np.unique(np.concatenate([profiles[number] for number in np.unique(pairs[:, 1])]))
        submissions, of_pair = np.unique(pairs[:, 0], return_inverse=True)
        pools = [
            np.unique(np.concatenate([np.searchsorted(written, profiles[j]) for j in pairs[of_pair == i, 1]]))
            for i in range(len(submissions))
        ]
        similarities = system.pool_scores(papers.take(submissions), papers.take(written), pools, "cosine")
        scores = np.empty(len(pairs))
        for row, (i, number) in enumerate(zip(of_pair, pairs[:, 1], strict=True)):
            places = np.searchsorted(pools[i], np.searchsorted(written, profiles[number]))
            scores[row] = mean_of_best(np.asarray(similarities[i], np.float64)[None, places], self.best)[0]
        return scores

    def _ranked(self, name: str, data: MatchInput, pairs: Rows, rated: tuple[Doubles, Doubles]) -> ItemScores:
        level, _, metric = name.partition(" ")
        threshold = dict(self.levels)[level]
        judged: dict[int, dict[str, int]] = {}
        run: dict[int, dict[str, float]] = {}
        for (paper, number), rating, score in zip(pairs.tolist(), *rated, strict=True):
            reviewer = data.reviewer_ids[number]
            judged.setdefault(paper, {})[reviewer] = int(rating >= threshold)
            run.setdefault(paper, {})[reviewer] = float(score)
        return score_rankings(
            [metric],
            [data.paper_ids[paper] for paper in run],
            ranked=[(list(scored), list(scored.values())) for scored in run.values()],
            judged=list(judged.values()),
        )[metric]


def _pairwise(data: MatchInput, pairs: Rows, ratings: Doubles, scores: Doubles, dropped: DropReport) -> ItemScores:
    """Return how each reviewer's pairs are ordered, weighted by the differences of the ratings."""
    order = pair_order([data.reviewer_ids[number] for number in pairs[:, 1]], ratings, scores)
    for reviewer in order.unordered:
        dropped.add("reviewer who rated nothing above anything", reviewer)
    columns = np.stack([order.values * order.weights, order.weights], axis=1)
    return ItemScores(order.raters, columns, aggregate="weighted-mean")

"""Match submissions with reviewers by the papers that these have written (SciRepEval, gold standard)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Rows
from sciprism.datasets.inputs import Reviewers
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.protocols.ranked import mean_per_query
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.metrics.pairs import pair_order
from sciprism.metrics.rankings import parse_metric
from sciprism.uses.matching import score_pairs

PAIRWISE = "pairwise"


@protocols.register("match")
@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Score a pair by the mean of the `best` highest cosines of the submission with the reviewer's papers.

    A reviewer of fewer papers has them all counted. metrics: a level and a ranking metric over each
    submission's judged reviewers ("hard p@5"), or "pairwise": does the score order each reviewer's
    submissions as his ratings do? levels: names and the rating from which a reviewer is relevant. Grades of
    SciRepEval's data run from 0 to 3; "hard" are those of 3, "soft" those from 2 on.
    Reviewers without papers cannot be scored; their pairs are left out and counted.
    """

    best: int = 3
    metrics: tuple[str, ...] = ("hard p@5", "hard p@10", "soft p@5", "soft p@10")
    levels: tuple[tuple[str, float], ...] = (("hard", 3), ("soft", 2))

    def __post_init__(self) -> None:
        if self.best < 1:
            raise InputError(f"match: best is {self.best}; at least one paper of a reviewer must count")
        if not self.metrics:
            raise InputError("match: no metric is named")
        known = dict(self.levels)
        for name in self.metrics:
            level, _, metric = name.partition(" ")
            if name == PAIRWISE:
                continue
            if level not in known:
                raise InputError(
                    f"match: metric {name!r} begins with no level; levels: {', '.join(known)}; or {PAIRWISE}"
                )
            parse_metric(metric)

    def evaluate(self, data: Reviewers, system: System, view: View) -> Outcome:
        """Score all pairs once, and each metric by the same scores."""
        tally = DropReport()
        for number, profile in enumerate(data.profiles):
            if not len(profile):
                tally.add("reviewer without papers", data.reviewer_ids[number])
        kept = np.array([len(data.profiles[number]) > 0 for _, number in data.pairs], bool)
        pairs, ratings = data.pairs[kept], data.ratings[kept]
        if not len(pairs):
            raise InputError("no rated reviewer has papers; nothing can be matched")
        used = np.unique(np.concatenate([pairs[:, 0], *(data.profiles[j] for j in np.unique(pairs[:, 1]))]))
        vectors = system.vectors(view.papers(data.papers).take(used))
        profiles = [np.searchsorted(used, profile) for profile in data.profiles]
        rows = np.stack([np.searchsorted(used, pairs[:, 0]), pairs[:, 1]], axis=1)
        scores = score_pairs(vectors, profiles, rows, self.best)
        evidence = {}
        for name in self.metrics:
            if name == PAIRWISE:
                evidence[name] = _pairwise(data, pairs, ratings, scores, tally)
            else:
                evidence[name] = self._ranked(name, data, pairs, (ratings, scores))
        details = {
            "submissions": len(np.unique(pairs[:, 0])),
            "reviewers": len(np.unique(pairs[:, 1])),
            "pairs": len(pairs),
            "pairs left out": int((~kept).sum()),
            "best": self.best,
            "distance": "cosine",
        }
        return Outcome(evidence=evidence, details=details, tally=tally)

    def _ranked(self, name: str, data: Reviewers, pairs: Rows, rated: tuple[Doubles, Doubles]) -> Evidence:
        level, _, metric = name.partition(" ")
        least = dict(self.levels)[level]
        judged: dict[int, dict[str, int]] = {}
        run: dict[int, dict[str, float]] = {}
        for (paper, number), rating, score in zip(pairs.tolist(), *rated, strict=True):
            reviewer = data.reviewer_ids[number]
            judged.setdefault(paper, {})[reviewer] = int(rating >= least)
            run.setdefault(paper, {})[reviewer] = float(score)
        ranked = [(list(scored), list(scored.values())) for scored in run.values()]
        names = [data.paper_ids[paper] for paper in run]
        return mean_per_query([metric], names, ranked=ranked, judged=list(judged.values()))[metric]


def _pairwise(data: Reviewers, pairs: Rows, ratings: Doubles, scores: Doubles, tally: DropReport) -> Evidence:
    """Return each reviewer's order of pairs, weighted by the differences of his ratings."""
    order = pair_order([data.reviewer_ids[number] for number in pairs[:, 1]], ratings, scores)
    for reviewer in order.unordered:
        tally.add("reviewer who rated nothing above anything", reviewer)
    columns = np.stack([order.values * order.weights, order.weights], axis=1)
    return Evidence(order.raters, columns, aggregate="weighted-mean")

"""Match submissions with reviewers by the papers that these have written (SciRepEval, gold standard)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.metrics.pairs import pair_order
from sciprism.metrics.rankings import parse_metric
from sciprism.tally import Tally
from sciprism.tasks.evidence import Evidence
from sciprism.tasks.inputs import Reviewers, Rows
from sciprism.tasks.protocols import protocols
from sciprism.tasks.protocols.ranked import mean_per_query
from sciprism.tasks.systems import Floats, System
from sciprism.tasks.task import Outcome, View

PAIRWISE = "pairwise"
BLOCK = 4096  # submissions compared with one reviewer's papers at once
Scores = NDArray[np.float64]


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
        tally = Tally()
        for number, profile in enumerate(data.profiles):
            if not len(profile):
                tally.add("reviewer without papers", data.reviewer_ids[number])
        kept = np.array([len(data.profiles[number]) > 0 for _, number in data.pairs], bool)
        pairs, ratings = data.pairs[kept], data.ratings[kept]
        if not len(pairs):
            raise InputError("no rated reviewer has papers; nothing can be matched")
        used = np.unique(np.concatenate([pairs[:, 0], *(data.profiles[j] for j in np.unique(pairs[:, 1]))]))
        vectors = system.vectors(view.papers(data.papers).take(used))
        scores = self._scores(data, pairs, used, vectors)
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

    def _scores(self, data: Reviewers, pairs: Rows, used: Rows, vectors: Floats) -> Scores:
        """Score each pair, reviewer by reviewer."""
        scores = np.empty(len(pairs))
        for number in np.unique(pairs[:, 1]):
            mine = np.flatnonzero(pairs[:, 1] == number)
            profile = _unit(vectors[np.searchsorted(used, data.profiles[number])])
            submissions = np.searchsorted(used, pairs[mine, 0])
            for start in range(0, len(mine), BLOCK):
                part = slice(start, start + BLOCK)
                cosines = _unit(vectors[submissions[part]]) @ profile.T
                scores[mine[part]] = mean_of_best(cosines, self.best)
        return scores

    def _ranked(
        self, name: str, data: Reviewers, pairs: Rows, rated: tuple[NDArray[np.float64], Scores]
    ) -> Evidence:
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


def mean_of_best(similarities: Scores, best: int) -> Scores:
    """Return the mean of each row's `best` highest values, of all where there are fewer. (n, p) -> (n,)."""
    if similarities.shape[1] > best:
        similarities = np.partition(similarities, -best, axis=1)[:, -best:]
    mean: Scores = similarities.mean(axis=1)
    return mean


def _pairwise(
    data: Reviewers, pairs: Rows, ratings: NDArray[np.float64], scores: Scores, tally: Tally
) -> Evidence:
    """Return each reviewer's order of pairs, weighted by the differences of his ratings."""
    order = pair_order([data.reviewer_ids[number] for number in pairs[:, 1]], ratings, scores)
    for reviewer in order.unordered:
        tally.add("reviewer who rated nothing above anything", reviewer)
    columns = np.stack([order.values * order.weights, order.weights], axis=1)
    return Evidence(order.raters, columns, aggregate="weighted-mean")


def _unit(vectors: Floats) -> Scores:
    """Scale rows to length 1 in double precision; a zero vector stays zero."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    unit: Scores = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    return unit

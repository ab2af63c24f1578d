"""Where scores come from: vectors of papers, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.papers.records import Paper
from sciprism.uses.matching.candidates import (
    Advance,
    ForbiddenPairs,
    LeastCandidates,
    PairTable,
    find_candidates,
)
from sciprism.uses.matching.expertise import ExpertiseScorer
from sciprism.uses.matching.pair_files import PairValues

DIGITS = 6
"""Decimal places of scores: further ones depend on the order of sums, and would make ties differ by machine."""
NEAREST = 2
"""Papers of a reviewer that explain a pair."""


@dataclass(frozen=True, slots=True)
class ReviewerPaper:
    """A paper of a reviewer, and its cosine with the submission."""

    title: str
    year: int | None
    cosine: float


class ScoreSource(Protocol):
    """Gives the scores of pairs, and why."""

    def candidates(
        self, forbidden: ForbiddenPairs, counts: LeastCandidates, members: list[Rows], advance: Advance
    ) -> PairTable:
        """Return the pairs to choose from."""
        ...

    def score(self, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the scores of pairs; 0 where nothing is known."""
        ...

    def explain(self, papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:
        """Return of each pair the reviewer's papers nearest to the submission."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class VectorScores:
    """Scores by the vectors of submissions (n, d) and of reviewers' papers."""

    submissions: Floats
    scorer: ExpertiseScorer
    papers: Sequence[Paper]

    def candidates(
        self, forbidden: ForbiddenPairs, counts: LeastCandidates, members: list[Rows], advance: Advance
    ) -> PairTable:
        """Return the best allowed pairs of each submission and each reviewer."""
        found = find_candidates(self.scorer, self.submissions, forbidden, counts, members=members, advance=advance)
        return PairTable(found.papers, found.reviewers, found.scores.round(DIGITS))

    def score(self, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the scores of pairs; 0 for reviewers without papers."""
        return np.nan_to_num(self.scorer.score_pairs(self.submissions, papers, reviewers), nan=0.0).round(DIGITS)

    def explain(self, papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:
        """Return of each pair the reviewer's two nearest papers, by the cosine without weights."""
        found: list[tuple[ReviewerPaper, ...]] = [()] * len(papers)
        profiles = self.scorer.profiles
        order = np.argsort(reviewers, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(reviewers[order])) + 1):
            if not len(part) or not profiles.sizes[reviewers[part[0]]]:
                continue
            own = profiles.of(int(reviewers[part[0]]))
            cosines = self.scorer.similarities(self.submissions[papers[part]], int(reviewers[part[0]]))
            cosines = cosines / np.maximum(profiles.weights[own], np.finfo(np.float32).tiny)
            for pair, row in zip(part.tolist(), cosines, strict=True):
                best = np.argsort(-row, kind="stable")[:NEAREST]
                near = [(self.papers[profiles.rows[own][i]], round(float(row[i]), 4)) for i in best.tolist()]
                found[pair] = tuple(
                    ReviewerPaper(paper.title or paper.abstract, paper.year, cosine) for paper, cosine in near
                )
        return found


class GivenScores:
    """Scores that a file gives; other pairs score 0."""

    def __init__(self, given: PairValues, shape: tuple[int, int]) -> None:
        order = np.lexsort((given.reviewers, given.papers))
        self._table = PairTable(given.papers[order], given.reviewers[order], given.values[order].round(DIGITS))
        self._reviewers = shape[1]
        self._keys = self._table.papers * shape[1] + self._table.reviewers

    def candidates(
        self,
        forbidden: ForbiddenPairs,
        counts: LeastCandidates,  # noqa: ARG002 (the sources' signature)
        members: list[Rows],  # noqa: ARG002
        advance: Advance,  # noqa: ARG002
    ) -> PairTable:
        """Return all pairs with a score that are allowed."""
        table = self._table
        return table.take(np.flatnonzero(~forbidden.contain(table.papers, table.reviewers)))

    def score(self, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the given scores of pairs, 0 for others."""
        wanted = papers * self._reviewers + reviewers
        if not len(self._keys):
            return np.zeros(len(wanted))
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, self._table.scores[places], 0.0)

    def explain(self, papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:  # noqa: ARG002
        """Return nothing: a file gives no papers."""
        return [()] * len(papers)

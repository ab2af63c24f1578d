"""The scores of pairs, by vectors of papers or from a file, and the pairs that an assignment chooses from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.papers.records import Paper
from sciprism.uses.matching.expertise import ExpertiseScorer
from sciprism.uses.matching.pair_files import PairValues
from sciprism.uses.matching.program import PairTable, Requirements, join_pairs

DIGITS = 6  # decimal places of scores: further ones depend on the order of sums, and would make ties differ by machine
NEAREST = 2  # papers of a reviewer that explain a pair
MAX_BLOCK_BYTES = 1 << 26  # bytes of the scores that are held at once
Advance = Callable[[int], None]  # shows how many submissions are scored


def find_candidates(
    scorer: ExpertiseScorer,
    submissions: Floats,
    required: Requirements,
    per_paper: int,
    per_reviewer: int,
    advance: Advance,
) -> PairTable:
    """Return the best allowed pairs of each submission (n, d) and of each reviewer, and their scores.

    per_paper, per_reviewer: pairs of each, at least; fewer where conflicts leave fewer. Each submission also gets the
    best of each group. Reviewers without papers score 0.
    """
    reviewers = len(scorer.profiles)
    step = max(1, min(4096, MAX_BLOCK_BYTES // (4 * max(1, reviewers))))
    best = _BestSubmissions(reviewers, per_reviewer)
    columns = [np.arange(reviewers), *(np.flatnonzero(group.members) for group in required.groups)]
    tables: list[PairTable] = []
    for start in range(0, len(submissions), step):
        scores = scorer.score_all(submissions[start : start + step])
        np.nan_to_num(scores, copy=False, nan=0.0)
        rows, numbers = required.forbidden.between(start, start + len(scores))
        scores[rows - start, numbers] = -np.inf
        best.add(scores, start)
        for number, members in enumerate(columns):
            part = scores[:, members] if number else scores
            highest = _find_highest(part, per_paper)
            rows, places = np.repeat(np.arange(len(part)), highest.shape[1]), highest.ravel()
            finite = np.isfinite(part[rows, places])
            rows, places = rows[finite], places[finite]
            tables.append(PairTable(rows + start, members[places], part[rows, places].astype(np.float64)))
        advance(start + len(scores))
    return join_pairs([*tables, best.pairs()], reviewers)


def _find_highest(scores: Floats, count: int) -> Rows:
    """Return the columns of up to `count` of the highest values of each row, in any order."""
    if count >= scores.shape[1]:
        return np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.argpartition(-scores, count - 1, axis=1)[:, :count]


class _BestSubmissions:
    """The running best submissions of each reviewer."""

    def __init__(self, reviewers: int, count: int) -> None:
        self._scores = np.full((reviewers, count), -np.inf, np.float32)
        self._papers = np.zeros((reviewers, count), np.int64)

    def add(self, scores: Floats, start: int) -> None:
        """Add the scores (b, reviewers) of the submissions from start on."""
        count = self._scores.shape[1]
        new = np.ascontiguousarray(scores.T)
        columns = _find_highest(new, count)
        scores = np.concatenate([self._scores, np.take_along_axis(new, columns, 1)], axis=1)
        papers = np.concatenate([self._papers, columns + start], axis=1)
        order = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        self._scores = np.take_along_axis(scores, order, 1)
        self._papers = np.take_along_axis(papers, order, 1)

    def pairs(self) -> PairTable:
        reviewers, places = np.nonzero(np.isfinite(self._scores))
        return PairTable(self._papers[reviewers, places], reviewers, self._scores[reviewers, places].astype(np.float64))


@dataclass(frozen=True, slots=True)
class ReviewerPaper:
    """A paper of a reviewer, and its cosine with the submission."""

    title: str
    year: int | None
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class VectorScores:
    """Scores by the vectors of submissions (n, d) and of reviewers' papers."""

    submissions: Floats
    scorer: ExpertiseScorer
    papers: Sequence[Paper]

    def candidates(self, required: Requirements, per_paper: int, per_reviewer: int, advance: Advance) -> PairTable:
        """Return the best allowed pairs of each submission and each reviewer."""
        best = find_candidates(self.scorer, self.submissions, required, per_paper, per_reviewer, advance)
        return PairTable(best.papers, best.reviewers, best.scores.round(DIGITS))

    def score(self, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the scores of pairs; 0 for reviewers without papers."""
        return np.nan_to_num(self.scorer.score_pairs(self.submissions, papers, reviewers), nan=0.0).round(DIGITS)

    def explain(self, papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:
        """Return of each pair the reviewer's two nearest papers, by the cosine without weights."""
        nearest: list[tuple[ReviewerPaper, ...]] = [()] * len(papers)
        profiles = self.scorer.profiles
        for reviewer, part in profiles.split_pairs(reviewers):
            written = profiles.of(reviewer)
            cosines = self.scorer.similarities(self.submissions[papers[part]], reviewer)
            cosines = cosines / np.maximum(profiles.weights[written], np.finfo(np.float32).tiny)
            for pair, row in zip(part.tolist(), cosines, strict=True):
                best = np.argsort(-row, kind="stable")[:NEAREST]
                near = [(self.papers[profiles.rows[written][i]], round(float(row[i]), 4)) for i in best.tolist()]
                nearest[pair] = tuple(
                    ReviewerPaper(paper.title or paper.abstract, paper.year, cosine) for paper, cosine in near
                )
        return nearest


class GivenScores:
    """Scores that a file gives; other pairs score 0."""

    def __init__(self, given: PairValues, shape: tuple[int, int]) -> None:
        order = np.lexsort((given.reviewers, given.papers))
        self._table = PairTable(given.papers[order], given.reviewers[order], given.values[order].round(DIGITS))
        self._given, self._reviewers = given, shape[1]

    def candidates(self, required: Requirements, *_: object) -> PairTable:
        """Return all pairs with a score that are allowed."""
        table = self._table
        return table.take(np.flatnonzero(~required.forbidden.contain(table.papers, table.reviewers)))

    def score(self, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the given scores of pairs, 0 for others."""
        return self._given.look_up(papers, reviewers, self._reviewers).round(DIGITS)

    def explain(self, papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:  # noqa: ARG002
        """Return nothing: a file gives no papers."""
        return [()] * len(papers)


ScoreSource = VectorScores | GivenScores  # gives the scores of pairs, and why

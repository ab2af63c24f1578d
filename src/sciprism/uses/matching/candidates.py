"""The pairs that an assignment chooses from: each submission's best reviewers and each reviewer's best submissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.uses.matching.expertise import ExpertiseScorer

MAX_BLOCK_BYTES = 1 << 26
"""Bytes of the scores that are held at once."""
Advance = Callable[[int], None]
"""Is told how many submissions are done."""


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Pairs of a submission and a reviewer, each once, by submission and reviewer; all (p,)."""

    papers: Rows
    reviewers: Rows
    scores: Doubles

    def __len__(self) -> int:
        return len(self.papers)

    def take(self, kept: Rows) -> PairTable:
        """Return some of the pairs: a mask, or positions in ascending order."""
        return PairTable(self.papers[kept], self.reviewers[kept], self.scores[kept])


def join_pairs(tables: list[PairTable], reviewers: int) -> PairTable:
    """Return the pairs of all tables in order, of a pair in several the first one's score."""
    keys = np.concatenate([table.papers * reviewers + table.reviewers for table in tables])
    found, first = np.unique(keys, return_index=True)
    papers, numbers = np.divmod(found, reviewers)
    return PairTable(papers, numbers, np.concatenate([table.scores for table in tables])[first])


class ForbiddenPairs:
    """The pairs that may not be assigned: of each submission its reviewers, of each reviewer its submissions."""

    def __init__(self, papers: Rows, reviewers: Rows, shape: tuple[int, int]) -> None:
        keys = np.unique(papers.astype(np.int64) * shape[1] + reviewers)
        self.keys, self.shape = keys, shape
        self.papers, self.reviewers = np.divmod(keys, shape[1])
        self._starts = np.searchsorted(self.papers, np.arange(shape[0] + 1))
        order = np.argsort(self.reviewers, kind="stable")
        self._by_reviewer = self.papers[order]
        self._reviewer_starts = np.searchsorted(self.reviewers[order], np.arange(shape[1] + 1))

    def __len__(self) -> int:
        return len(self.keys)

    def of_paper(self, paper: int) -> Rows:
        """Return the reviewers that a submission may not have."""
        return self.reviewers[self._starts[paper] : self._starts[paper + 1]]

    def of_reviewer(self, reviewer: int) -> Rows:
        """Return the submissions that a reviewer may not have."""
        return self._by_reviewer[self._reviewer_starts[reviewer] : self._reviewer_starts[reviewer + 1]]

    def between(self, start: int, stop: int) -> tuple[Rows, Rows]:
        """Return the pairs of the submissions from start to stop."""
        part = slice(self._starts[start], self._starts[stop])
        return self.papers[part], self.reviewers[part]

    def contain(self, papers: Rows, reviewers: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return of each pair whether it is forbidden."""
        wanted = papers * self.shape[1] + reviewers
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        return self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), bool)


@dataclass(frozen=True, slots=True)
class LeastCandidates:
    """How many candidates each submission has at least, and each reviewer; fewer where conflicts leave fewer."""

    per_paper: int
    per_reviewer: int


def find_candidates(
    scorer: ExpertiseScorer,
    submissions: Floats,
    forbidden: ForbiddenPairs,
    counts: LeastCandidates,
    *,
    members: list[Rows] | None = None,
    advance: Advance | None = None,
) -> PairTable:
    """Return the best allowed pairs of each submission (n, d) and of each reviewer, and their scores.

    Reviewers without papers score 0. members: groups of reviewers, of which each submission also gets its best.
    """
    reviewers = len(scorer.profiles)
    step = max(1, min(4096, MAX_BLOCK_BYTES // (4 * max(1, reviewers))))
    best = _BestSubmissions(reviewers, counts.per_reviewer)
    tables: list[PairTable] = []
    for start in range(0, len(submissions), step):
        scores = scorer.score_all(submissions[start : start + step])
        np.nan_to_num(scores, copy=False, nan=0.0)
        rows, numbers = forbidden.between(start, start + len(scores))
        scores[rows - start, numbers] = -np.inf
        best.add(scores, start)
        for columns in (None, *(members or ())):
            part = scores if columns is None else scores[:, columns]
            found, places = _take_best(part, counts.per_paper)
            chosen = places if columns is None else columns[places]
            tables.append(PairTable(found + start, chosen, part[found, places].astype(np.float64)))
        if advance is not None:
            advance(start + len(scores))
    return join_pairs([*tables, best.pairs()], reviewers)


def _take_best(scores: Floats, count: int) -> tuple[Rows, Rows]:
    """Return the places (rows, columns) of the highest finite values of each row."""
    count = min(count, scores.shape[1])
    if count < scores.shape[1]:
        columns = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    else:
        columns = np.broadcast_to(np.arange(count), scores.shape)
    rows = np.repeat(np.arange(len(scores)), count)
    finite = np.isfinite(scores[rows, columns.ravel()])
    return rows[finite], columns.ravel()[finite]


class _BestSubmissions:
    """The running best submissions of each reviewer."""

    def __init__(self, reviewers: int, count: int) -> None:
        self._scores = np.full((reviewers, count), -np.inf, np.float32)
        self._papers = np.zeros((reviewers, count), np.int64)

    def add(self, scores: Floats, start: int) -> None:
        """Add the scores (b, reviewers) of the submissions from start on."""
        count = self._scores.shape[1]
        new = np.ascontiguousarray(scores.T)
        if count < new.shape[1]:
            columns = np.argpartition(-new, count - 1, axis=1)[:, :count]
        else:
            columns = np.broadcast_to(np.arange(new.shape[1]), new.shape)
        scores = np.concatenate([self._scores, np.take_along_axis(new, columns, 1)], axis=1)
        papers = np.concatenate([self._papers, columns + start], axis=1)
        order = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        self._scores = np.take_along_axis(scores, order, 1)
        self._papers = np.take_along_axis(papers, order, 1)

    def pairs(self) -> PairTable:
        """Return the best pairs of all reviewers."""
        reviewers, places = np.nonzero(np.isfinite(self._scores))
        return PairTable(self._papers[reviewers, places], reviewers, self._scores[reviewers, places].astype(np.float64))

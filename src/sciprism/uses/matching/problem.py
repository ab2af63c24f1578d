"""What an assignment must satisfy: reviewers per submission, loads, forbidden and locked pairs, group minima."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Integers, Rows

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Pairs of a submission and a reviewer, each once, by submission and reviewer; all (p,)."""

    papers: Rows
    reviewers: Rows
    scores: Doubles

    def __len__(self) -> int:
        return len(self.papers)

    def keys(self, reviewers: int) -> Rows:
        """Return one number of each pair. reviewers: how many there are."""
        return self.papers * reviewers + self.reviewers

    def take(self, rows: Rows) -> PairTable:
        """Return some of the pairs: a mask, or positions in ascending order."""
        return PairTable(self.papers[rows], self.reviewers[rows], self.scores[rows])


def join_pairs(tables: list[PairTable], reviewers: int) -> PairTable:
    """Return the pairs of all tables in order, of a pair in several the first one's score."""
    keys = np.concatenate([table.keys(reviewers) for table in tables])
    distinct, first = np.unique(keys, return_index=True)
    papers, numbers = np.divmod(distinct, reviewers)
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
        """Return whether each pair is in the set (n,)."""
        wanted = papers * self.shape[1] + reviewers
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        return self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), bool)


@dataclass(frozen=True, slots=True, eq=False)
class GroupMinimum:
    """At least `minimum` reviewers of each submission belong to a group. members: (reviewers,)."""

    name: str
    members: Mask
    minimum: int


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What every assignment satisfies, whatever its scores.

    needs: reviewers of each submission (n,). least, most: submissions of each reviewer (m,). locked: pairs
    (submissions, reviewers) that are part of every assignment. paper_ids, reviewer_ids: what messages call them.
    """

    paper_ids: list[str]
    reviewer_ids: list[str]
    needs: Integers
    least: Integers
    most: Integers
    forbidden: ForbiddenPairs
    locked: tuple[Rows, Rows] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    groups: tuple[GroupMinimum, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of submissions and reviewers."""
        return len(self.needs), len(self.most)

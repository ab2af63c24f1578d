"""How well each reviewer knows a submission: its cosines with the reviewer's papers, as one score.

All submissions and reviewers are scored in blocks: no matrix of all pairs is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Rows, inner_products, normalize_rows
from sciprism.papers.duplicates import find_versions
from sciprism.papers.records import Paper
from sciprism.uses.matching.persons import NameIndex
from sciprism.uses.matching.reviewers import Reviewer, ReviewerIndex
from sciprism.uses.matching.settings import Scoring

SUBMISSIONS = 256  # submissions of one matrix product
PAPERS = 2048  # papers of reviewers in one matrix product, about
MAX_RUNNING = 16  # highest values that are found by running maxima; more are found by sorting


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The papers of all reviewers, concatenated: reviewer j has rows[starts[j]:starts[j + 1]].

    rows: of the papers' vectors. weights: of each paper in the reviewer's score, in (0, 1].
    """

    starts: Rows
    rows: Rows
    weights: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Rows:
        """Return the number of papers of each reviewer."""
        return np.diff(self.starts)

    def split_pairs(self, reviewers: Rows) -> Iterator[tuple[int, Rows]]:
        """Yield each reviewer with papers, and the places of its pairs. reviewers: of each pair (p,)."""
        order, sizes = np.argsort(reviewers, kind="stable"), self.sizes
        for part in np.split(order, np.flatnonzero(np.diff(reviewers[order])) + 1):
            if len(part) and sizes[reviewers[part[0]]]:
                yield int(reviewers[part[0]]), part

    def of(self, reviewer: int) -> slice:
        """Return the part of `rows` and `weights` that is a reviewer's."""
        return slice(int(self.starts[reviewer]), int(self.starts[reviewer + 1]))


def build_profiles(
    reviewers: Sequence[Reviewer], *, year: int, half_life: float = 0.0, authorship: float = 1.0
) -> tuple[list[Paper], Profiles]:
    """Return the distinct papers of all reviewers, and of each reviewer their rows and weights.

    half_life: years after which a paper counts half, 0: age does not count; a paper without a year counts as the
    median of the reviewer's. authorship: weight of papers of which the reviewer is neither first nor last author;
    where that is not known, the weight is 1. Versions of a paper count once in a profile; papers of one text are one
    row.
    """
    rows: dict[tuple[str, str], int] = {}
    papers: list[Paper] = []
    starts: list[int] = [0]
    numbers: list[int] = []
    weights: list[float] = []
    for reviewer in reviewers:
        written: dict[int, Paper] = {}
        for paper in join_versions(reviewer.papers):
            row = rows.setdefault((paper.title, paper.abstract), len(papers))
            if row == len(papers):
                papers.append(paper)
            written.setdefault(row, paper)
        numbers += written
        weights += _weigh(reviewer, list(written.values()), year, half_life, authorship)
        starts.append(len(numbers))
    return papers, Profiles(np.array(starts, np.int64), np.array(numbers, np.int64), np.array(weights, np.float32))


def join_versions(papers: Sequence[Paper]) -> Iterator[Paper]:
    """Yield each paper of one person once, in its first version with an abstract and with the latest year."""
    for versions in find_versions(papers):
        years = [year for position in versions if (year := papers[position].year) is not None]
        fullest = papers[versions[0]]
        yield replace(fullest, year=max(years)) if years else fullest


def _weigh(reviewer: Reviewer, papers: list[Paper], year: int, half_life: float, authorship: float) -> list[float]:
    ages = [max(0, year - paper.year) for paper in papers if paper.year is not None]
    usual = float(np.median(ages)) if ages else 0.0
    names = ReviewerIndex([reviewer]).names
    weights = []
    for paper in papers:
        age = usual if paper.year is None else max(0, year - paper.year)
        weight = 0.5 ** (age / half_life) if half_life else 1.0
        if authorship != 1.0 and _is_middle_author(paper, names):
            weight *= authorship
        weights.append(weight)
    return weights


def _is_middle_author(paper: Paper, names: NameIndex) -> bool:
    """Tell whether a person is an author, and neither the first nor the last."""
    if len(paper.authors) < 3:
        return False
    is_person = [bool(names.find(author)) for author in paper.authors]
    return any(is_person) and not is_person[0] and not is_person[-1]


@dataclass(frozen=True, slots=True, eq=False)
class _ReviewerBlock:
    """Reviewers with their papers' weighted unit vectors: the first paper of each, then the second of each ...

    reviewers: most papers first. counts[j]: how many of them have more than j papers. vectors: (sum of counts, d).
    """

    reviewers: Rows
    counts: list[int]
    vectors: Tensor


class ExpertiseScorer:
    """Scores submissions with every reviewer, by vectors of papers (n, d) and the reviewers' profiles."""

    def __init__(self, vectors: Floats, profiles: Profiles, scoring: Scoring) -> None:
        self.vectors, self.profiles, self.scoring = vectors, profiles, scoring
        self._blocks = list(self._build_blocks())

    def score_all(self, submissions: Floats) -> Floats:
        """Return the scores (b, reviewers) of a few submissions (b, d); NaN for reviewers without papers."""
        scores = np.full((len(submissions), len(self.profiles)), np.nan, np.float32)
        left = torch.from_numpy(normalize_rows(submissions))
        for start in range(0, len(left), SUBMISSIONS):
            part = left[start : start + SUBMISSIONS]
            for block in self._blocks:
                scores[start : start + len(part), block.reviewers] = self._score_block(part, block).numpy()
        return scores

    def score_pairs(self, submissions: Floats, papers: Rows, reviewers: Rows) -> Doubles:
        """Return the scores of single pairs (p,) in double precision; NaN for reviewers without papers.

        submissions: (n, d). papers, reviewers: the row and the reviewer of each pair.
        """
        scores = np.full(len(papers), np.nan)
        for reviewer, part in self.profiles.split_pairs(reviewers):
            scores[part] = self.scoring.reduce(self.similarities(submissions[papers[part]], reviewer))
        return scores

    def similarities(self, submissions: Floats, reviewer: int) -> Doubles:
        """Return the weighted cosines (b, p) of submissions (b, d) with each of a reviewer's papers."""
        part = self.profiles.of(reviewer)
        papers = normalize_rows(self.vectors[self.profiles.rows[part]]).astype(np.float64)
        cosines: Doubles = normalize_rows(submissions).astype(np.float64) @ papers.T
        return cosines * self.profiles.weights[part]

    def _build_blocks(self) -> Iterator[_ReviewerBlock]:
        sizes = self.profiles.sizes
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        ends = np.cumsum(sizes[order])
        first = 0
        while first < len(order):
            limit = (ends[first - 1] if first else 0) + PAPERS
            last = max(first + 1, int(np.searchsorted(ends, limit, "right")))
            yield self._build_block(order[first:last])
            first = last

    def _build_block(self, reviewers: Rows) -> _ReviewerBlock:
        sizes, starts = self.profiles.sizes[reviewers], self.profiles.starts[reviewers]
        counts = [int(np.searchsorted(-sizes, -j, "left")) for j in range(int(sizes[0]))]
        places = np.concatenate([starts[:count] + j for j, count in enumerate(counts)])
        vectors = normalize_rows(self.vectors[self.profiles.rows[places]])
        return _ReviewerBlock(reviewers, counts, torch.from_numpy(vectors * self.profiles.weights[places, None]))

    def _score_block(self, submissions: Tensor, block: _ReviewerBlock) -> Tensor:
        """Score (b, d) with a block's reviewers -> (b, r)."""
        similar = inner_products(submissions, block.vectors)
        depth = self.scoring.depth(len(block.counts))
        best = self._running_best(similar, block, depth) if depth <= MAX_RUNNING else None
        scores = torch.empty(len(submissions), len(block.reviewers))
        sizes = self.profiles.sizes[block.reviewers]
        offsets = np.cumsum([0, *block.counts])
        for size in np.unique(sizes):
            same = np.flatnonzero(sizes == size)  # one run: the most papers first
            here = slice(int(same[0]), int(same[-1]) + 1)
            shares = torch.from_numpy(self.scoring.shares(int(size)).astype(np.float32))
            if best is not None:
                highest = [values[:, here] for values in best[: len(shares)]]
            else:
                columns = torch.from_numpy(offsets[:size, None] + same)  # (papers, reviewers)
                highest = list(similar[:, columns].topk(len(shares), dim=1).values.unbind(1))
            total = highest[0] * shares[0]
            for values, share in zip(highest[1:], shares[1:], strict=True):
                total += values * share
            scores[:, here] = total
        return scores

    @staticmethod
    def _running_best(similar: Tensor, block: _ReviewerBlock, depth: int) -> list[Tensor]:
        """Return the highest, second highest ... value of each reviewer, each (b, r); -inf where there is none."""
        shape = (len(similar), len(block.reviewers))
        best = [torch.full(shape, -torch.inf) for _ in range(depth)]
        start = 0
        for count in block.counts:
            value = similar[:, start : start + count]
            start += count
            for level, held in enumerate(best):
                here = held[:, :count]
                lower = torch.minimum(here, value) if level + 1 < depth else value
                torch.maximum(here, value, out=here)
                value = lower
        return best


BLOCK = 4096  # submissions that are compared with one reviewer's papers at once


def score_pairs(vectors: Floats, profiles: Sequence[Rows], pairs: Rows, best: int) -> Doubles:
    """Score each pair (p,) by the mean of the `best` highest cosines with the reviewer's papers (SciRepEval).

    vectors: (n, d) of all papers. profiles[j]: rows of reviewer j's papers. pairs: (p, 2), a submission's row
    and a reviewer's number.
    """
    scores = np.empty(len(pairs))
    for number in np.unique(pairs[:, 1]):
        positions = np.flatnonzero(pairs[:, 1] == number)
        profile = _normalize(vectors[profiles[number]])
        for start in range(0, len(positions), BLOCK):
            part = positions[start : start + BLOCK]
            scores[part] = mean_of_best(_normalize(vectors[pairs[part, 0]]) @ profile.T, best)
    return scores


def mean_of_best(similarities: Doubles, best: int) -> Doubles:
    """Return the mean of each row's `best` highest values, or of all if there are fewer. (n, p) -> (n,)."""
    if similarities.shape[1] > best:
        similarities = np.partition(similarities, -best, axis=1)[:, -best:]
    mean: Doubles = similarities.mean(axis=1)
    return mean


def _normalize(vectors: Floats) -> Doubles:
    """Scale rows to length 1 in double precision; a zero vector stays zero."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    unit: Doubles = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    return unit

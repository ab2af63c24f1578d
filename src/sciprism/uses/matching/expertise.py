"""How well each reviewer knows a submission: its cosines with the reviewer's papers, as one score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from sciprism.arrays import Doubles, Floats, Rows, inner_products, normalize_rows
from sciprism.papers.duplicates import find_versions
from sciprism.papers.records import Paper
from sciprism.uses.matching.persons import NameIndex
from sciprism.uses.matching.reviewers import Reviewer, ReviewerIndex
from sciprism.uses.matching.settings import Scoring

PAPERS = 2048  # papers of reviewers in one matrix product, about
NEAREST = 2  # papers of a reviewer that explain a pair


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The distinct papers of a reviewer: rows of their vectors, and their weights in the score, in (0, 1]."""

    rows: Rows
    weights: Floats


@dataclass(frozen=True, slots=True)
class ReviewerPaper:
    """A paper that a reviewer wrote, and its cosine with the submission."""

    title: str
    year: int | None
    cosine: float


def build_profiles(
    reviewers: Sequence[Reviewer], *, year: int, half_life: float = 0.0, authorship: float = 1.0
) -> tuple[list[Paper], list[Profile]]:
    """Return the distinct papers of all reviewers, and of each reviewer their rows and weights.

    half_life: years after which a paper counts half, 0: age does not count; a paper without a year counts as the
    median of the reviewer's. authorship: weight of papers of which the reviewer is neither first nor last author;
    where that is not known, the weight is 1. Versions of a paper count once in a profile; papers of one text are one
    row.
    """
    rows: dict[tuple[str, str], int] = {}
    papers: list[Paper] = []
    profiles: list[Profile] = []
    for reviewer in reviewers:
        written: dict[int, Paper] = {}
        for paper in join_versions(reviewer.papers):
            row = rows.setdefault((paper.title, paper.abstract), len(papers))
            if row == len(papers):
                papers.append(paper)
            written.setdefault(row, paper)
        weights = _weigh(reviewer, list(written.values()), year, half_life, authorship)
        profiles.append(Profile(np.array(list(written), np.int64), np.array(weights, np.float32)))
    return papers, profiles


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
        weights.append(weight * authorship if authorship != 1.0 and _is_middle_author(paper, names) else weight)
    return weights


def _is_middle_author(paper: Paper, names: NameIndex) -> bool:
    """Tell whether a person is an author, and neither the first nor the last."""
    is_person = [bool(names.find(author)) for author in paper.authors]
    return any(is_person) and not is_person[0] and not is_person[-1]


class ExpertiseScorer:
    """Scores submissions (n, d) with reviewers, by vectors of papers (p, d) and the reviewers' profiles."""

    def __init__(self, submissions: Floats, vectors: Floats, profiles: Sequence[Profile], scoring: Scoring) -> None:
        self._submissions = torch.from_numpy(normalize_rows(submissions))
        self._vectors, self.profiles, self._scoring = vectors, profiles, scoring

    def score_all(self, advance: Callable[[int], None] = lambda _: None) -> Floats:
        """Return the scores (n, reviewers), 0 for reviewers without papers. advance: shows how many are scored."""
        scores = np.zeros((len(self.profiles), len(self._submissions)), np.float32)
        ends = np.cumsum([len(profile.rows) for profile in self.profiles])
        batches = np.split(np.arange(len(ends)), np.flatnonzero(np.diff(ends // PAPERS)) + 1)
        for batch in batches:
            profiles = [self.profiles[number] for number in batch]
            cosines = self._multiply(np.concatenate([profile.rows for profile in profiles]), slice(None))
            weighted = cosines * np.concatenate([profile.weights for profile in profiles])
            parts = np.split(weighted, np.cumsum([len(profile.rows) for profile in profiles])[:-1], axis=1)
            for number, part in zip(batch, parts, strict=True):
                if part.shape[1]:
                    scores[number] = reduce_scores(part, self._scoring)
            advance(int(batch[-1]) + 1)
        return scores.T

    def _multiply(self, papers: Rows, submissions: Any) -> Floats:
        """Return the cosines (b, p) of some submissions and papers."""
        unit = torch.from_numpy(normalize_rows(self._vectors[papers]))
        return inner_products(self._submissions[submissions], unit).numpy()

    def find_nearest(self, written: Sequence[Paper], papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:
        """Return of each pair the reviewer's two nearest papers, by the cosine without weights.

        written: the papers of the vectors. papers, reviewers: rows of the submissions and numbers of the reviewers.
        """
        nearest: list[tuple[ReviewerPaper, ...]] = [()] * len(papers)
        order = np.argsort(reviewers, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(reviewers[order])) + 1):
            for reviewer in reviewers[part[:1]].tolist():
                rows = self.profiles[reviewer].rows
                for pair, cosines in zip(part.tolist(), self._multiply(rows, papers[part]), strict=True):
                    best = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
                    near = ((written[rows[i]], round(float(cosines[i]), 4)) for i in best)
                    nearest[pair] = tuple(ReviewerPaper(each.title or each.abstract, each.year, c) for each, c in near)
        return nearest


def reduce_scores(cosines: Any, scoring: Scoring) -> Any:
    """Return the score of each row of weighted cosines, (n, p) -> (n,)."""
    if scoring.top:
        return mean_of_best(cosines, scoring.top)
    return np.percentile(cosines, scoring.percentile, axis=1)


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

"""Vectors of papers, and how well each reviewer knows a submission: its cosines with their papers, as one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sciprism.arrays import Doubles, Floats, Rows, inner_products, normalize_rows
from sciprism.papers.duplicates import find_versions
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.store import StoredCollection
from sciprism.uses.collection import read_with_vectors
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.search import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NEAREST = 2  # papers of a reviewer that explain a pair


def read_vectors(stored: StoredCollection) -> dict[tuple[str, str], Floats]:
    """Return title and abstract of each paper of a collection -> its vector."""
    known: dict[tuple[str, str], Floats] = {}
    for papers, vectors in read_with_vectors(stored, choose_paper_space(stored)):
        for paper, vector in zip(papers, vectors, strict=True):
            known.setdefault((paper.title, paper.abstract), vector)
    return known


def encode_papers(
    encoder: EncoderProtocol,
    parts: Mapping[str, Sequence[Paper]],
    known: Mapping[tuple[str, str], Floats] = MappingProxyType({}),
    progress: Progress = show_nothing,
) -> dict[str, Floats]:
    """Return the vectors of several lists of papers, for proximity.

    Those of known texts (`read_vectors`) and of the cache on disk are taken, others are encoded.
    """
    from sciprism.encoders.cached_encoder import CachedEncoder

    cached = CachedEncoder(encoder)
    vectors_by_part = {}
    for name, papers in parts.items():
        cached.watch(progress, f"encoding {name}", "papers")
        stored = [known.get((paper.title, paper.abstract)) for paper in papers]
        new = [paper for paper, vector in zip(papers, stored, strict=True) if vector is None]
        encoded = iter(cached.encode(new, format="proximity", role="paper"))
        vectors = [next(encoded) if vector is None else vector for vector in stored]
        vectors_by_part[name] = np.array(vectors, np.float32).reshape(len(papers), encoder.dim)
    return vectors_by_part


@dataclass(frozen=True, slots=True)
class ReviewerPaper:
    """A paper that a reviewer wrote, and its cosine with the submission."""

    title: str
    year: int | None
    cosine: float


def build_profiles(reviewers: Sequence[Reviewer]) -> tuple[list[Paper], list[Rows]]:
    """Return the distinct papers of all reviewers, and of each reviewer their rows.

    Versions of a paper count once in a profile, with the latest year; papers of one text are one row.
    """
    rows: dict[tuple[str, str], int] = {}
    papers: list[Paper] = []
    profiles: list[Rows] = []
    for reviewer in reviewers:
        own: dict[int, None] = {}
        for versions in find_versions(reviewer.papers):  # the first has an abstract if any has one
            years = [year for place in versions if (year := reviewer.papers[place].year) is not None]
            paper = reviewer.papers[versions[0]]
            paper = replace(paper, year=max(years)) if years else paper
            row = rows.setdefault((paper.title, paper.abstract), len(papers))
            if row == len(papers):
                papers.append(paper)
            own[row] = None
        profiles.append(np.array(list(own), np.int64))
    return papers, profiles


class ExpertiseScorer:
    """Scores submissions (n, d) with reviewers, by vectors of papers (p, d) and the rows of each reviewer's papers.

    best: how many of the highest cosines count, by their mean.
    """

    def __init__(self, submissions: Floats, vectors: Floats, profiles: Sequence[Rows], best: int) -> None:
        self._submissions = torch.from_numpy(normalize_rows(submissions))
        self._vectors, self.profiles, self._best = vectors, profiles, best

    def score_all(self, progress: Progress = show_nothing) -> Floats:
        """Return the scores (n, reviewers), 0 for reviewers without papers."""
        scores = np.zeros((len(self.profiles), len(self._submissions)), np.float32)
        for number, profile in enumerate(self.profiles):
            if len(profile):
                scores[number] = mean_of_best(self._multiply(profile, slice(None)), self._best)
            progress("scoring", "reviewers", number + 1, len(self.profiles))
        return scores.T

    def _multiply(self, papers: Rows, submissions: Any) -> Floats:
        """Return the cosines (b, p) of some submissions and papers."""
        unit = torch.from_numpy(normalize_rows(self._vectors[papers]))
        return inner_products(self._submissions[submissions], unit).numpy()

    def find_nearest(self, written: Sequence[Paper], papers: Rows, reviewers: Rows) -> list[tuple[ReviewerPaper, ...]]:
        """Return of each pair the reviewer's two nearest papers, by the cosine.

        written: the papers of the vectors. papers, reviewers: rows of the submissions and numbers of the reviewers.
        """
        nearest: list[tuple[ReviewerPaper, ...]] = [()] * len(papers)
        order = np.argsort(reviewers, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(reviewers[order])) + 1):
            for reviewer in reviewers[part[:1]].tolist():
                rows = self.profiles[reviewer]
                for pair, cosines in zip(part.tolist(), self._multiply(rows, papers[part]), strict=True):
                    best = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
                    near = ((written[rows[i]], round(float(cosines[i]), 4)) for i in best)
                    nearest[pair] = tuple(ReviewerPaper(each.title or each.abstract, each.year, c) for each, c in near)
        return nearest


def mean_of_best(similarities: Any, best: int) -> Doubles:
    """Return the mean of each row's `best` highest values, or of all if there are fewer. (n, p) -> (n,)."""
    if similarities.shape[1] > best:
        similarities = np.partition(similarities, -best, axis=1)[:, -best:]
    mean: Doubles = similarities.mean(axis=1)
    return mean

"""Reviewers' papers as rows of vectors, with the weight of each paper: its age, the reviewer's place as an author."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciprism.papers.person_names import Name, parse_name
from sciprism.papers.records import Paper
from sciprism.uses.matching.expertise import Profiles
from sciprism.uses.matching.reviewers import Reviewer


def build_profiles(
    reviewers: Sequence[Reviewer], *, year: int, half_life: float = 0.0, authorship: float = 1.0
) -> tuple[list[Paper], Profiles]:
    """Return the distinct papers of all reviewers, and of each reviewer their rows and weights.

    half_life: years after which a paper counts half, 0: age does not count; a paper without a year counts as the
    median of the reviewer's. authorship: weight of papers of which the reviewer is neither first nor last author;
    where that is not known, the weight is 1. Papers of one text are one row.
    """
    rows: dict[tuple[str, str], int] = {}
    papers: list[Paper] = []
    starts: list[int] = [0]
    numbers: list[int] = []
    weights: list[float] = []
    for reviewer in reviewers:
        own: dict[int, Paper] = {}
        for paper in reviewer.papers:
            row = rows.setdefault((paper.title, paper.abstract), len(papers))
            if row == len(papers):
                papers.append(paper)
            own.setdefault(row, paper)
        numbers += own
        weights += _weigh(reviewer, list(own.values()), year, half_life, authorship)
        starts.append(len(numbers))
    return papers, Profiles(np.array(starts, np.int64), np.array(numbers, np.int64), np.array(weights, np.float32))


def _weigh(reviewer: Reviewer, papers: list[Paper], year: int, half_life: float, authorship: float) -> list[float]:
    ages = [max(0, year - paper.year) for paper in papers if paper.year is not None]
    usual = float(np.median(ages)) if ages else 0.0
    name = parse_name(reviewer.name)
    weights = []
    for paper in papers:
        age = usual if paper.year is None else max(0, year - paper.year)
        weight = 0.5 ** (age / half_life) if half_life else 1.0
        if authorship != 1.0 and _is_middle_author(paper, name):
            weight *= authorship
        weights.append(weight)
    return weights


def _is_middle_author(paper: Paper, name: Name) -> bool:
    """Tell whether a person is an author, and neither the first nor the last."""
    if not name.last or len(paper.authors) < 3:
        return False
    is_person = [parse_name(author).block == name.block for author in paper.authors]
    return any(is_person) and not is_person[0] and not is_person[-1]


def latest_year(papers: Sequence[Paper]) -> int:
    """Return the latest year of some papers, 0 where none has one."""
    return max((paper.year for paper in papers if paper.year is not None), default=0)

"""Small assignment problems: scores as a matrix, requirements, and the best assignment by trying all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sciprism.uses.matching.program import GroupMinimum, Requirements


def build_requirements(
    shape: tuple[int, int],
    *,
    needs: int = 1,
    least: int = 0,
    most: int = 1,
    forbidden: list[tuple[int, int]] = (),
    locked: list[tuple[int, int]] = (),
    groups: list[tuple[list[int], int]] = (),
) -> Requirements:
    """Requirements with equal needs and loads. groups: members and minimum of each."""
    pairs = [np.array(each, np.int64).reshape(-1, 2) for each in (forbidden, locked)]
    return Requirements(
        paper_ids=[f"p{row}" for row in range(shape[0])],
        reviewer_ids=[f"r{row}" for row in range(shape[1])],
        needs=np.full(shape[0], needs),
        least=np.full(shape[1], least),
        most=np.full(shape[1], most),
        forbidden=(pairs[0][:, 0], pairs[0][:, 1]),
        locked=(pairs[1][:, 0], pairs[1][:, 1]),
        groups=tuple(
            GroupMinimum(f"group={n}", np.isin(np.arange(shape[1]), members), minimum)
            for n, (members, minimum) in enumerate(groups)
        ),
    )


def list_assignments(required: Requirements) -> Iterator[list[tuple[int, ...]]]:
    """All assignments that satisfy the requirements: of each paper its reviewers."""
    papers, reviewers = required.shape

    def extend(paper: int, loads: np.ndarray, chosen: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
        if paper == papers:
            if (loads >= required.least).all():
                yield chosen
            return
        free = [r for r in range(reviewers) if (paper, r) not in set(zip(*required.forbidden, strict=True))]
        locked = {r for p, r in zip(*required.locked, strict=True) if p == paper}
        for own in combinations(free, required.needs[paper]):
            after = loads + np.isin(np.arange(reviewers), own)
            grouped = all(group.members[list(own)].sum() >= group.minimum for group in required.groups)
            if (after <= required.most).all() and locked <= set(own) and grouped:
                yield from extend(paper + 1, after, [*chosen, own])

    return extend(0, np.zeros(reviewers, int), [])


def sum_scores(scores: np.ndarray, assignment: list[tuple[int, ...]]) -> np.ndarray:
    """The summed score of each paper."""
    return np.array([scores[paper, list(own)].sum() for paper, own in enumerate(assignment)])

"""Say why no assignment exists: which submissions or reviewers, which constraint, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sciprism.errors import InputError
from sciprism.uses.matching.problem import Requirements

MAX_NAMED = 5
"""Submissions or reviewers that a message names; all are counted."""


def name_some(names: Sequence[str]) -> str:
    """Return the first names as "a, b, c and 12 others"."""
    shown = ", ".join(names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return shown if more <= 0 else f"{shown} and {more:,} other{'s' if more > 1 else ''}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, "1 review", "12 reviews"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def explain_loads(required: Requirements) -> None:
    """Raise InputError where sums, single submissions or single reviewers cannot be satisfied."""
    impossible = np.flatnonzero(required.least > required.most)
    if len(impossible):
        first = impossible[0]
        raise InputError(
            f"reviewer {required.reviewer_ids[first]} must review at least {required.least[first]} submissions, and "
            f"at most {required.most[first]}; {len(impossible):,} in all: change --min-papers or --max-papers"
        )
    _check_locks(required)
    _check_sums(required)
    _check_conflicts(required)


def _check_sums(required: Requirements) -> None:
    papers, reviewers = required.shape
    needed, capacity = int(required.needs.sum()), int(np.minimum(required.most, papers).sum())
    if needed > capacity:
        raise InputError(
            f"{count(papers, 'submission')} need {count(needed, 'review')}, but {count(reviewers, 'reviewer')} may "
            f"write {capacity:,}; raise --max-papers, lower --per-paper or add reviewers"
        )
    if required.least.sum() > needed:
        raise InputError(
            f"the minimum loads of {count(reviewers, 'reviewer')} add up to {required.least.sum():,} reviews, but "
            f"{count(papers, 'submission')} need {needed:,}; lower --min-papers or raise --per-paper"
        )


def _check_conflicts(required: Requirements) -> None:
    papers, reviewers = required.shape
    forbidden = np.bincount(required.forbidden.papers, minlength=papers)
    short = np.flatnonzero(reviewers - forbidden < required.needs)
    if len(short):
        first = short[0]
        raise InputError(
            f"submission {required.paper_ids[first]} needs {count(int(required.needs[first]), 'reviewer')}, but only "
            f"{reviewers - forbidden[first]:,} of {reviewers:,} are without conflict"
            + _others(len(short) - 1, "submission", "lack reviewers")
            + "; add reviewers, or remove conflicts that are none"
        )
    free = papers - np.bincount(required.forbidden.reviewers, minlength=reviewers)
    idle = np.flatnonzero(free < required.least)
    if len(idle):
        first = idle[0]
        raise InputError(
            f"reviewer {required.reviewer_ids[first]} must review at least {required.least[first]} submissions, but "
            f"only {free[first]} are without conflict"
            + _others(len(idle) - 1, "reviewer", "lack submissions")
            + "; lower the minimum"
        )


def _check_locks(required: Requirements) -> None:
    papers, reviewers = required.locked
    for rows, limits, names, what in (
        (papers, required.needs, required.paper_ids, "reviewers"),
        (reviewers, required.most, required.reviewer_ids, "submissions"),
    ):
        counts = np.bincount(rows, minlength=len(limits))
        over = np.flatnonzero(counts > limits)
        if len(over):
            first = over[0]
            raise InputError(
                f"{names[first]} has {counts[first]} locked {what}, but may have {limits[first]}; "
                "remove locks, or change --per-paper or --max-papers"
            )


def explain_short_paper(required: Requirements, paper: int, reached: Sequence[int]) -> str:
    """Return why a submission lacks a reviewer: those reached share reviewers that may not write enough.

    reached: submissions whose allowed reviewers, all of them at their maximum, are the same set.
    """
    counts = np.zeros(required.shape[1], np.int64)
    for row in reached:
        allowed = np.ones(required.shape[1], bool)
        allowed[required.forbidden.of_paper(row)] = False
        counts += allowed
    usable = int(((counts > 0) & (required.most > 0)).sum())
    possible = int(np.minimum(counts, required.most).sum())
    names = name_some([required.paper_ids[row] for row in reached])
    needed = int(required.needs[list(reached)].sum())
    locks = " beside the locked pairs" if len(required.locked[0]) else ""
    return (
        f"submission {required.paper_ids[paper]} cannot have {count(int(required.needs[paper]), 'reviewer')}: "
        f"{count(len(reached), 'submission')} ({names}) need {count(needed, 'review')}, and the "
        f"{count(usable, 'reviewer')} without conflict may write "
        f"at most {possible:,} of them{locks}; raise --max-papers, add reviewers for these, or remove conflicts "
        "that are none"
    )


def explain_idle_reviewer(required: Requirements, reviewer: int) -> str:
    """Return why a reviewer does not reach its minimum."""
    return (
        f"reviewer {required.reviewer_ids[reviewer]} cannot have {required.least[reviewer]} submissions: those "
        "without conflict are needed for the minimum of other reviewers, or locked; lower --min-papers for some"
    )


def explain_groups(required: Requirements, lacking: Mapping[str, Sequence[int]]) -> str:
    """Return which submissions lack reviewers of which group. lacking: name of the group -> submissions."""
    parts = []
    for group in required.groups:
        if rows := lacking.get(group.name):
            capacity = int(required.most[group.members].sum())
            needed = group.minimum * required.shape[0]
            names = name_some([required.paper_ids[row] for row in rows])
            parts.append(
                f"{count(len(rows), 'submission')} ({names}) cannot have {count(group.minimum, 'reviewer')} with "
                f"{group.name}: all submissions need {count(needed, 'such review')}, the "
                f"{count(int(group.members.sum()), 'reviewer')} of the group may write {capacity:,}, fewer where they "
                "have conflicts"
            )
    return "; ".join(parts) + "; lower --require, raise the maximum of these reviewers or add some"


def _others(number: int, noun: str, what: str) -> str:
    return f"; {count(number, f'other {noun}')} also {what}" if number else ""

"""Find an assignment that satisfies all loads over all allowed pairs, or name who lacks what and why.

A greedy assignment is completed by augmenting paths (Ford and Fulkerson 1956). Allowed pairs are never listed: a
search asks each submission for the reviewers that it may have and that were not reached before. A search without
an end proves, by the papers and reviewers it reached, that no assignment exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from sciprism.arrays import Integers, Rows
from sciprism.drop_report import count_noun as count
from sciprism.errors import InputError
from sciprism.uses.matching.program import Mask, PairTable, Requirements


def find_assignment(required: Requirements, candidates: PairTable) -> tuple[Rows, Rows]:
    """Return submissions and reviewers of an assignment that satisfies needs, loads, locks and forbidden pairs.

    candidates: pairs that are tried first, the highest scores before others. Group minima are not considered.
    Raises InputError that names the submissions or reviewers that cannot be satisfied, and the constraint.
    """
    explain_loads(required)
    draft = _Draft(required)
    for paper, reviewer in zip(*required.locked, strict=True):
        draft.add(int(paper), int(reviewer))
    draft.locked = [set(reviewers) for reviewers in draft.reviewers_of]
    draft.add_greedily(candidates)
    for paper in range(required.shape[0]):
        while len(draft.reviewers_of[paper]) < required.needs[paper]:
            draft.complete_paper(paper)
    for reviewer in range(required.shape[1]):
        while len(draft.papers_of[reviewer]) < required.least[reviewer]:
            draft.complete_reviewer(reviewer)
    assigned = [(paper, reviewer) for paper, held in enumerate(draft.reviewers_of) for reviewer in sorted(held)]
    papers, reviewers = np.array(assigned, np.int64).reshape(-1, 2).T
    return papers, reviewers


def _find_rest(usable: Mask, forbidden: Rows, held: set[int]) -> Rows:
    """Return those that are usable, neither forbidden nor held."""
    usable = usable.copy()
    usable[forbidden] = False
    usable[list(held)] = False
    return np.flatnonzero(usable)


class _Draft:
    """An assignment in the making."""

    def __init__(self, required: Requirements) -> None:
        self.required = required
        papers, reviewers = required.shape
        self.reviewers_of: list[set[int]] = [set() for _ in range(papers)]
        self.papers_of: list[set[int]] = [set() for _ in range(reviewers)]
        self.locked: list[set[int]] = [set() for _ in range(papers)]
        self.loads: Integers = np.zeros(reviewers, np.int64)

    def add(self, paper: int, reviewer: int) -> None:
        self.reviewers_of[paper].add(reviewer)
        self.papers_of[reviewer].add(paper)
        self.loads[reviewer] += 1

    def remove(self, paper: int, reviewer: int) -> None:
        self.reviewers_of[paper].remove(reviewer)
        self.papers_of[reviewer].remove(paper)
        self.loads[reviewer] -= 1

    def add_greedily(self, candidates: PairTable) -> None:
        """Assign the pairs with the highest scores while submission and reviewer have room."""
        room, needs = (self.required.most - self.loads).tolist(), self.required.needs.tolist()
        order = np.argsort(-candidates.scores, kind="stable")
        pairs = zip(candidates.papers[order].tolist(), candidates.reviewers[order].tolist(), strict=True)
        for paper, reviewer in pairs:
            held = self.reviewers_of[paper]
            if room[reviewer] > 0 and len(held) < needs[paper] and reviewer not in held:
                self.add(paper, reviewer)
                room[reviewer] -= 1

    def complete_paper(self, paper: int) -> None:
        """Give a submission one more reviewer; others of it and of other submissions may change."""
        required = self.required
        reached: dict[int, int] = {}  # reviewer -> the submission that can take it
        released: dict[int, int] = {}  # submission -> its reviewer that another can take
        unseen = np.ones(required.shape[1], bool)
        waiting = deque([paper])
        seen = {paper}
        while waiting:
            current = waiting.popleft()
            held = self.reviewers_of[current]
            candidates = _find_rest(unseen & (required.most > 0), required.forbidden.of_paper(current), held)
            unseen[candidates] = False
            reached.update(dict.fromkeys(candidates.tolist(), current))
            spare = candidates[self.loads[candidates] < required.most[candidates]]
            if len(spare):
                self._shift(paper, int(spare[np.argmin(self.loads[spare])]), reached, released)
                return
            for reviewer in candidates.tolist():
                for other in self.papers_of[reviewer]:
                    if other not in seen and reviewer not in self.locked[other]:
                        seen.add(other)
                        released[other] = reviewer
                        waiting.append(other)
        raise InputError(explain_short_paper(required, paper, sorted(seen)))

    def complete_reviewer(self, reviewer: int) -> None:
        """Give a reviewer one more submission, which another reviewer gives up."""
        required = self.required
        takers: dict[int, int] = {}  # submission -> the reviewer that can take it
        lost: dict[int, int] = {reviewer: -1}  # reviewer -> the submission that it gives up
        unseen = np.ones(required.shape[0], bool)
        waiting = deque([reviewer])
        while waiting:
            current = waiting.popleft()
            conflicts = required.forbidden.of_reviewer(current)
            for paper in _find_rest(unseen, conflicts, self.papers_of[current]).tolist():
                unseen[paper] = False
                takers[paper] = current
                for other in self.reviewers_of[paper] - self.locked[paper]:
                    if other in lost:
                        continue
                    lost[other] = paper
                    if self.loads[other] > required.least[other]:
                        self._pass_on(reviewer, other, takers, lost)
                        return
                    waiting.append(other)
        raise InputError(
            f"reviewer {required.reviewer_ids[reviewer]} cannot have {required.least[reviewer]} submissions: those "
            "without conflict are needed for the minimum of other reviewers, or locked; lower --min-papers for some"
        )

    def _shift(self, paper: int, reviewer: int, reached: dict[int, int], released: dict[int, int]) -> None:
        """Follow a path back: each submission takes the reviewer that was reached, and gives up the one before."""
        while True:
            current = reached[reviewer]
            self.add(current, reviewer)
            if current == paper:
                return
            reviewer = released[current]
            self.remove(current, reviewer)

    def _pass_on(self, first: int, reviewer: int, takers: dict[int, int], lost: dict[int, int]) -> None:
        """Follow a path back: each reviewer gives up its submission to the one before."""
        while reviewer != first:
            paper = lost[reviewer]
            self.remove(paper, reviewer)
            reviewer = takers[paper]
            self.add(paper, reviewer)


MAX_NAMED = 5  # submissions or reviewers that a message names; all are counted


def name_some(names: Sequence[str]) -> str:
    """Return the first names as "a, b, c and 12 others"."""
    shown = ", ".join(names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return shown if more <= 0 else f"{shown} and {more:,} other{'s' if more > 1 else ''}"


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
    free = reviewers - np.bincount(required.forbidden.papers, minlength=papers)
    short = np.flatnonzero(free < required.needs)
    if len(short):
        first = short[0]
        raise InputError(
            f"submission {required.paper_ids[first]} needs {count(int(required.needs[first]), 'reviewer')}, but only "
            f"{free[first]:,} of {reviewers:,} are without conflict{_others(len(short) - 1, 'submission', 'reviewers')}"
            "; add reviewers, or remove conflicts that are none"
        )
    free = papers - np.bincount(required.forbidden.reviewers, minlength=reviewers)
    idle = np.flatnonzero(free < required.least)
    if len(idle):
        first = idle[0]
        raise InputError(
            f"reviewer {required.reviewer_ids[first]} must review at least {required.least[first]} submissions, but "
            f"only {free[first]} are without conflict{_others(len(idle) - 1, 'reviewer', 'submissions')}; lower the "
            "minimum"
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
    locks = " besides the locked pairs" if len(required.locked[0]) else ""
    return (
        f"submission {required.paper_ids[paper]} cannot have {count(int(required.needs[paper]), 'reviewer')}: "
        f"{count(len(reached), 'submission')} ({names}) need {count(needed, 'review')}, and the "
        f"{count(usable, 'reviewer')} without conflict may write "
        f"at most {possible:,} of them{locks}; raise --max-papers, add reviewers for these, or remove conflicts "
        "that are none"
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
    return f"; {count(number, f'other {noun}')} also lack {what}" if number else ""

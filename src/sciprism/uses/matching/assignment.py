"""Solve an assignment: candidates, the programme, fairness or perturbation; or name what cannot be met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sciprism.arrays import Doubles, Rows
from sciprism.drop_report import count_noun as count
from sciprism.errors import InputError, RunFailedError
from sciprism.uses.matching.expertise import ReviewerPaper
from sciprism.uses.matching.fairness import assign_at_random, assign_fairly, even_loads, sum_by_paper
from sciprism.uses.matching.pair_files import PairValues, StatedPairs
from sciprism.uses.matching.program import TOLERANCE, AssignmentProgram, Lack, Mask, PairTable, Requirements
from sciprism.uses.matching.settings import MatchSettings

DIGITS = 6  # decimal places of scores: further ones depend on the order of sums, and would make ties differ by machine
TIE = 1e-7  # of scores that are equal
BLOCK = 1 << 24  # scores that are ordered at once
KEEP_BONUS = 100.0  # value of a kept pair, in ranges of the scores: more than chains of exchanges gain by moving it
MAX_NAMED = 5  # submissions or reviewers that a message names; all are counted


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """The scores of all pairs (submissions, reviewers); those of forbidden pairs mean nothing.

    matrix: dense, or sparse where a file gives them; others are 0, and none but those in `given` are candidates.
    explain: returns the reviewer's nearest papers of each pair, by submissions and reviewers (p,).
    """

    matrix: Any
    given: tuple[Rows, Rows] | None = None
    explain: Callable[[Rows, Rows], list[tuple[ReviewerPaper, ...]]] = lambda papers, _: [()] * len(papers)

    @classmethod
    def of_file(cls, given: PairValues, shape: tuple[int, int]) -> PairScores:
        """Return the scores that a file gives."""
        matrix = sparse.csr_array((given.values, (given.papers, given.reviewers)), shape)
        return cls(matrix, (given.papers, given.reviewers))

    def build_pairs(self, required: Requirements, *parts: tuple[Rows, Rows]) -> PairTable:
        """Return the allowed ones of some pairs with their scores, each once and in order."""
        keys = np.unique(np.concatenate([papers * required.shape[1] + reviewers for papers, reviewers in parts]))
        papers, reviewers = np.divmod(keys, required.shape[1])
        allowed = ~required.are_among(required.forbidden, papers, reviewers)
        papers, reviewers = papers[allowed], reviewers[allowed]
        return PairTable(papers, reviewers, self.matrix[papers, reviewers].astype(np.float64).round(DIGITS))


@dataclass(frozen=True, slots=True, eq=False)
class SolvedAssignment:
    """The assigned pairs with scores and values (score and bid), and what limits them.

    all, all_values: the pairs that were chosen from. worst, bound: of a submission's summed values, the bound only
    where the objective is fair. best_sum: the highest sum, where it was computed. kept, moved: pairs of an earlier
    assignment. probabilities: of the pairs, where they were sampled. uneven: the pairs before loads were balanced.
    """

    pairs: PairTable
    values: Doubles
    all: PairTable
    all_values: Doubles
    worst: float
    bound: float | None = None
    best_sum: float | None = None
    kept: int | None = None
    moved: int | None = None
    probabilities: Doubles | None = None
    uneven: PairTable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentTask:
    """What is to be solved: requirements, scores, stated pairs, settings."""

    required: Requirements
    scores: PairScores
    stated: StatedPairs
    settings: MatchSettings


def solve_assignment(task: AssignmentTask) -> SolvedAssignment:
    """Return the assignment; InputError that names what cannot be met where there is none."""
    settings, stated = task.settings, task.stated
    if len(stated.kept) and settings.objective == "perturbed":
        raise InputError("a perturbed assignment moves pairs at random; use --keep with --objective fair or sum")
    pairs = find_pairs(task)
    try:
        program, values, goals = _set_goals(task, pairs)
        best = program.solve(goals)
    except RunFailedError:  # the candidates do not suffice
        program, values, goals = _set_goals(task, complete_pairs(task, pairs))
        best = program.solve(goals)
    if settings.objective == "perturbed":
        return _perturb(task, program.pairs, values, best.objective)
    if not len(stated.kept):
        return replace(_refine(task, program, values, best.chosen), best_sum=best.objective)
    kept = best.chosen & (goals != values)
    locked = zip(task.required.locked, (program.pairs.papers[kept], program.pairs.reviewers[kept]), strict=True)
    rows, numbers = (np.concatenate(parts) for parts in locked)
    held = AssignmentProgram(replace(task.required, locked=(rows, numbers)), program.pairs)
    solved = _refine(task, held, values, best.chosen)
    return replace(solved, kept=int(kept.sum()), moved=len(stated.kept) - int(kept.sum()))


def find_pairs(task: AssignmentTask) -> PairTable:
    """Return the candidates: the best of each submission, of its groups and of each reviewer, and those files name."""
    required, stated, scores = task.required, task.stated, task.scores
    papers, reviewers = required.shape
    named = (stated.bids.select(stated.bids.values > 0), stated.kept)
    parts = [*((pairs.papers, pairs.reviewers) for pairs in named), required.locked]
    if scores.given is not None:
        return scores.build_pairs(required, scores.given, *parts)
    scores.matrix[required.forbidden] = -np.inf
    per_paper = task.settings.candidates
    per_reviewer = max(int(required.least.max()), -(-per_paper * papers // (2 * reviewers)), 1)
    parts.append(_find_best(scores.matrix, per_paper))
    parts.append(_find_best(scores.matrix.T, per_reviewer)[::-1])
    for group in required.groups:
        members = np.flatnonzero(group.members)
        rows, places = _find_best(scores.matrix[:, members], per_paper)
        parts.append((rows, members[places]))
    return scores.build_pairs(required, *parts)


def _find_best(scores: Any, number: int) -> tuple[Rows, Rows]:
    """Return rows and columns of so many of the highest scores of each row.

    Equal ones are chosen at random: reviewers without papers would else all have the same few submissions.
    """
    step, rng = max(1, BLOCK // scores.shape[1]), np.random.default_rng(0)
    rows, columns = list[Rows](), list[Rows]()
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        block = TIE * rng.random(block.shape, np.float32) - block
        best = np.argpartition(block, min(number, block.shape[1]) - 1, axis=1)[:, :number]
        rows.append(np.repeat(np.arange(start, start + len(block)), best.shape[1]))
        columns.append(best.ravel())
    return np.concatenate(rows), np.concatenate(columns)


def complete_pairs(task: AssignmentTask, pairs: PairTable) -> PairTable:
    """Add pairs that gain in the elastic programme until nothing lacks; InputError where no pair gains any more."""
    required, scores = task.required, task.scores
    matrix = scores.matrix if scores.given is None else scores.matrix.toarray()
    while lack := AssignmentProgram(required, pairs).find_lack():
        of_papers, of_reviewers, of_groups = (prices.astype(np.float32) for prices in lack.prices)
        gains = of_papers[:, None] + of_reviewers
        for group, prices in zip(required.groups, of_groups, strict=True):
            gains[:, group.members] += prices[:, None]
        useful = gains > TOLERANCE
        useful[required.forbidden] = useful[pairs.papers, pairs.reviewers] = False
        if not useful.any():
            raise InputError(explain_lack(required, lack))
        rows, columns = _find_best(np.where(useful, matrix, -np.inf), task.settings.candidates)
        added = useful[rows, columns]
        pairs = scores.build_pairs(required, (pairs.papers, pairs.reviewers), (rows[added], columns[added]))
    return pairs


def explain_lack(required: Requirements, lack: Lack) -> str:
    """Return how many reviews lack, for which submissions and reviewers, and what helps."""
    parts = []
    if lack.reviews.sum() > TOLERANCE:
        rows = np.flatnonzero(lack.prices[0] > TOLERANCE)  # they compete for the same reviewers, who are all full
        allowed = np.ones(required.shape, bool)
        allowed[required.forbidden] = False
        free = allowed[rows].sum(axis=0)
        parts.append(
            f"{_name(rows, required.paper_ids, 'submission')} need {count(int(required.needs[rows].sum()), 'review')}, "
            f"and the {count(int(((free > 0) & (required.most > 0)).sum()), 'reviewer')} without conflict may write at "
            f"most {np.minimum(free, required.most).sum():,} of them: {count(round(lack.reviews.sum()), 'review')} lack"
        )
    if lack.minimum.sum() > TOLERANCE:
        rows = np.flatnonzero(lack.minimum > TOLERANCE)
        parts.append(
            f"{count(round(lack.minimum.sum()), 'submission')} lack for the minimum loads of "
            f"{_name(rows, required.reviewer_ids, 'reviewer')}: all minima add up to {required.least.sum():,} reviews, "
            f"and {count(required.shape[0], 'submission')} need {required.needs.sum():,}"
        )
    for group, short in zip(required.groups, lack.groups, strict=True):
        if short.sum() > TOLERANCE:
            rows = np.flatnonzero(short > TOLERANCE)
            parts.append(
                f"{_name(rows, required.paper_ids, 'submission')} cannot have {count(group.minimum, 'reviewer')} with "
                f"{group.name}: the {count(int(group.members.sum()), 'reviewer')} of the group may write "
                f"{required.most[group.members].sum():,} of {required.needs.sum():,} reviews"
            )
    for paper, reviewer in np.transpose(required.locked)[lack.locks][:MAX_NAMED]:
        parts.append(f"{required.paper_ids[paper]} {required.reviewer_ids[reviewer]} is locked beyond their loads")
    return (
        f"no assignment meets all requirements: {'; '.join(parts)}; raise --max-papers, lower --per-paper, "
        "--min-papers or --require, add reviewers, or remove locks and conflicts that are none"
    )


def _name(rows: Rows, ids: Sequence[str], noun: str) -> str:
    """Return "7 submissions (a, b, c, d, e and others)"."""
    more = " and others" if len(rows) > MAX_NAMED else ""
    return f"{count(len(rows), noun)} ({', '.join(ids[row] for row in rows[:MAX_NAMED])}{more})"


def _set_goals(task: AssignmentTask, pairs: PairTable) -> tuple[AssignmentProgram, Doubles, Doubles]:
    """Return the programme, the values of its pairs (score and bid), and these with what keeping a pair is worth."""
    bids, kept = (
        part.look_up(pairs.papers, pairs.reviewers, task.required.shape)
        for part in (task.stated.bids, task.stated.kept)
    )
    values = pairs.scores + task.settings.bid_weight * bids
    bonus = task.settings.move_cost
    if bonus is None:
        bonus = KEEP_BONUS * max(1e-3, float(np.ptp(values)) if len(values) else 0.0)
    return AssignmentProgram(task.required, pairs), values, values + bonus * kept


def _refine(task: AssignmentTask, program: AssignmentProgram, values: Doubles, chosen: Mask) -> SolvedAssignment:
    """Return an assignment that begins with the highest sum, made fair and even where the settings say so."""
    bound, uneven = None, None
    if task.settings.objective == "fair":
        chosen, bound = assign_fairly(program, values, chosen)
    if task.settings.balance:
        uneven = program.pairs.take(np.flatnonzero(chosen))
        earlier = task.stated.earlier_loads if len(task.stated.earlier_loads) else np.zeros(task.required.shape[1], int)
        chosen = even_loads(program, values, chosen, earlier)
    return replace(_report(task, program.pairs, values, chosen), bound=bound, uneven=uneven)


def _perturb(task: AssignmentTask, pairs: PairTable, values: Doubles, best: float) -> SolvedAssignment:
    settings = task.settings
    chosen, probabilities = assign_at_random(
        task.required,
        pairs,
        values,
        max_probability=settings.max_probability,
        least=settings.quality * best,
        seed=settings.seed,
    )
    return replace(_report(task, pairs, values, chosen), best_sum=best, probabilities=probabilities[chosen])


def _report(task: AssignmentTask, pairs: PairTable, values: Doubles, chosen: Mask) -> SolvedAssignment:
    worst = float(sum_by_paper(pairs, values, chosen, task.required.shape[0]).min())
    assigned: Rows = np.flatnonzero(chosen)
    return SolvedAssignment(pairs.take(assigned), values[assigned], pairs, values, worst)

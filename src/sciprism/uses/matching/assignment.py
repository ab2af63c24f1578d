"""Solve an assignment: candidates, a feasible start, the programme, fairness or perturbation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sciprism.arrays import Doubles, Rows
from sciprism.errors import InputError
from sciprism.uses.matching.fairness import assign_at_random, assign_fairly, even_loads, sum_by_paper
from sciprism.uses.matching.feasibility import explain_groups, find_assignment
from sciprism.uses.matching.inputs import MatchProgress
from sciprism.uses.matching.pair_files import StatedPairs
from sciprism.uses.matching.pair_scores import ScoreSource
from sciprism.uses.matching.program import AssignmentProgram, Mask, PairTable, Requirements, join_pairs
from sciprism.uses.matching.settings import MatchSettings

KEEP_BONUS = 100.0  # value of a kept pair, in ranges of the scores: more than chains of exchanges gain by moving it
MAX_WIDENED = 5_000_000  # pairs that are added at most where groups lack candidates


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
    source: ScoreSource
    stated: StatedPairs
    settings: MatchSettings


def solve_assignment(task: AssignmentTask, progress: MatchProgress) -> SolvedAssignment:
    """Return the assignment; InputError that names the cause where there is none."""
    required, settings = task.required, task.settings
    pairs = find_pairs(task, progress)
    pairs = _satisfy_groups(task, pairs)
    bids = task.stated.bids.look_up(pairs.papers, pairs.reviewers, required.shape[1])
    values = pairs.scores + settings.bid_weight * bids
    progress.begin("assigning")
    if settings.objective == "perturbed":
        return _perturb(task, pairs, values)
    program = AssignmentProgram(required, pairs)
    if len(task.stated.kept):
        return _keep(task, program, values)
    best = program.solve(values)
    return replace(_refine(task, program, values, best.chosen), best_sum=best.objective)


def find_pairs(task: AssignmentTask, progress: MatchProgress) -> PairTable:
    """Return the candidates with all pairs that files name, and those of an assignment that is feasible."""
    required, stated = task.required, task.stated
    papers, reviewers = required.shape
    progress.begin("scoring", "submissions", papers)
    per_paper = task.settings.candidates
    per_reviewer = min(papers, max(int(required.least.max()), -(-per_paper * papers // (2 * reviewers)), 1))
    tables = [task.source.candidates(required, per_paper, per_reviewer, progress.update)]
    named = (stated.bids.select(stated.bids.values > 0), stated.kept)
    for rows, numbers in (*((pairs.papers, pairs.reviewers) for pairs in named), required.locked):
        tables.append(_score_allowed(task, rows, numbers))
    candidates = join_pairs(tables, reviewers)
    progress.begin("checking loads")
    return join_pairs([candidates, _score_allowed(task, *find_assignment(required, candidates))], reviewers)


def _score_allowed(task: AssignmentTask, papers: Rows, reviewers: Rows) -> PairTable:
    """Return those of some pairs that are not forbidden."""
    allowed = ~task.required.forbidden.contain(papers, reviewers)
    papers, reviewers = papers[allowed], reviewers[allowed]
    return PairTable(papers, reviewers, task.source.score(papers, reviewers))


def _satisfy_groups(task: AssignmentTask, pairs: PairTable) -> PairTable:
    """Add pairs of groups until the minima can be satisfied; InputError where all pairs do not suffice."""
    required = task.required
    if not required.groups:
        return pairs
    lacking = AssignmentProgram(required, pairs).find_lacking()
    if not lacking:
        return pairs
    for columns, rows in _widen(required, lacking):
        added = _score_allowed(task, np.repeat(rows, len(columns)), np.tile(columns, len(rows)))
        pairs = join_pairs([pairs, added], required.shape[1])
    lacking = AssignmentProgram(required, pairs).find_lacking()
    if lacking:
        raise InputError(explain_groups(required, lacking))
    return pairs


def _widen(required: Requirements, lacking: dict[str, list[int]]) -> Iterator[tuple[Rows, Rows]]:
    """Yield reviewers and submissions whose pairs may help: all, or where these are too many those of the groups."""
    papers, reviewers = required.shape
    if papers * reviewers <= MAX_WIDENED:
        yield np.arange(reviewers), np.arange(papers)
        return
    for group in required.groups:
        members = np.flatnonzero(group.members)
        few = papers * len(members) <= MAX_WIDENED
        yield members, np.arange(papers) if few else np.array(lacking.get(group.name, []), np.int64)


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


def _keep(task: AssignmentTask, program: AssignmentProgram, values: Doubles) -> SolvedAssignment:
    """Move as few pairs of the earlier assignment as possible, or as their cost permits; then the objective."""
    cost = task.settings.move_cost
    if cost is None:
        cost = KEEP_BONUS * max(1e-3, float(np.ptp(values)))
    earlier = task.stated.kept.look_up(program.pairs.papers, program.pairs.reviewers, program.required.shape[1])
    chosen = program.solve(values + cost * earlier).chosen
    kept = chosen & (earlier > 0)
    rows = np.concatenate([program.required.locked[0], program.pairs.papers[kept]])
    numbers = np.concatenate([program.required.locked[1], program.pairs.reviewers[kept]])
    held = AssignmentProgram(replace(program.required, locked=(rows, numbers)), program.pairs)
    solved = _refine(task, held, values, chosen)
    return replace(solved, kept=int(kept.sum()), moved=len(task.stated.kept) - int(kept.sum()))


def _perturb(task: AssignmentTask, pairs: PairTable, values: Doubles) -> SolvedAssignment:
    settings = task.settings
    if len(task.stated.kept):
        raise InputError("a perturbed assignment moves pairs at random; use --keep with --objective fair or sum")
    best = AssignmentProgram(task.required, pairs).solve(values).objective
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

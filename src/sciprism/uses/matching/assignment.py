"""Solve an assignment: the linear programme on HiGHS, fairness, a random veto; or name what cannot be met.

Loads alone, and one column of groups that do not overlap, form a network: every basic solution is integral. Only
overlapping groups need integer variables. To raise the worst-served submission is NP-hard (Garg et al. 2010, Assigning
papers to referees): the linear relaxation bounds it from above, and chains of exchanges raise the worst ones towards
that bound: a submission takes a better reviewer from another one, which takes a third reviewer, and so on, while none
falls below the goal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.drop_report import count_noun as count
from sciprism.errors import InputError, RunFailedError
from sciprism.uses.matching.expertise import ReviewerPaper
from sciprism.uses.matching.reviewers import Pairs, StatedPairs, look_up, split_pairs
from sciprism.uses.matching.settings import MatchSettings

Mask = NDArray[np.bool_]
NO_ROWS: Rows = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Pairs of a submission and a reviewer, each once, by submission and reviewer; all (p,)."""

    papers: Rows
    reviewers: Rows
    scores: Doubles

    def __len__(self) -> int:
        return len(self.papers)

    def take(self, rows: Rows) -> PairTable:
        """Return some of the pairs, by positions in ascending order."""
        return PairTable(self.papers[rows], self.reviewers[rows], self.scores[rows])


@dataclass(frozen=True, slots=True, eq=False)
class GroupMinimum:
    """At least `minimum` reviewers of each submission belong to a group. members: (reviewers,)."""

    name: str
    members: Mask
    minimum: int


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What every assignment satisfies, whatever its scores.

    needs: reviewers of each submission (n,). least, most: submissions of each reviewer (m,). forbidden, locked: pairs
    (submissions, reviewers) that are part of no assignment, or of every one. paper_ids, reviewer_ids: what messages
    call them.
    """

    paper_ids: list[str]
    reviewer_ids: list[str]
    needs: Integers
    least: Integers
    most: Integers
    forbidden: tuple[Rows, Rows] = (NO_ROWS, NO_ROWS)
    locked: tuple[Rows, Rows] = (NO_ROWS, NO_ROWS)
    groups: tuple[GroupMinimum, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of submissions and reviewers."""
        return len(self.needs), len(self.most)

    def are_among(self, some: tuple[Rows, Rows], papers: Rows, reviewers: Rows) -> Mask:
        """Return whether each pair is one of some pairs, such as the forbidden ones (n,)."""
        count = len(self.most)
        return np.isin(papers * count + reviewers, some[0] * count + some[1])


TOLERANCE = 1e-6
GAP = 1e-9  # of the highest sum, within which a solution is optimal; HiGHS takes 1e-4
UNBOUNDED = float("inf")
LOCK_PRICE = 3.0  # reviews that may lack rather than a lock is dropped


@dataclass(frozen=True, slots=True, eq=False)
class Lack:
    """What cannot be met by some pairs, as little as possible.

    reviews: that each submission lacks (n,). minimum: submissions that each reviewer lacks (m,). groups: reviewers of
    each group that each submission lacks (groups, n). locks: of the locked pairs, whether it is dropped. prices: what
    one pair more would gain: (n,) of a submission, (m,) of a reviewer and (groups, n) of a group's members.
    """

    reviews: Doubles
    minimum: Doubles
    groups: Doubles
    locks: Mask
    prices: tuple[Doubles, Doubles, Doubles]


class AssignmentProgram:
    """Maximize the summed value of assigned pairs under the requirements."""

    def __init__(self, required: Requirements, pairs: PairTable) -> None:
        self.required, self.pairs = required, pairs
        self.locked = required.are_among(required.locked, pairs.papers, pairs.reviewers)
        papers, reviewers = required.shape
        minima = [np.minimum(group.minimum, required.needs) for group in required.groups]
        self._reviewers = _incidence(pairs.reviewers, reviewers)
        members = (_incidence(pairs.papers, papers, group.members[pairs.reviewers]) for group in required.groups)
        self._matrix = sparse.vstack([_incidence(pairs.papers, papers), self._reviewers, *members])
        self._least = np.concatenate([required.needs, required.least, *minima])
        self._most = np.concatenate([required.needs, required.most, *(required.needs for _ in minima)])

    def solve(self, values: Doubles, *, fixed: Mask | None = None) -> Doubles:
        """Return the amount of each pair (p,) in the best solution, 0 or 1.

        values: (p,). fixed: pairs that are assigned, besides the locked. Raises RunFailedError where HiGHS finds no
        solution.
        """
        limits = self._least, self._most
        return _solve(self._matrix, values, self._bound(fixed), limits, integers=len(self.pairs))[0]

    def solve_evenly(self, values: Doubles, price: float, loads: Integers, fixed: Mask) -> Doubles:
        """Return the amounts (p,) of the highest sum where a reviewer's n-th submission costs 2 n - 1 prices.

        So loads are as even as the price outweighs values. loads: of each reviewer in earlier rounds (m,).
        """
        reviewers, count = self.required.shape[1], len(self.pairs)
        room = np.minimum(self.required.most, np.bincount(self.pairs.reviewers, minlength=reviewers))
        owners = np.repeat(np.arange(reviewers), room)
        before = loads[owners] + np.arange(len(owners)) - np.repeat(np.cumsum(room) - room, room)
        matrix = sparse.block_array([[self._matrix, None], [self._reviewers, -_incidence(owners, reviewers)]])
        values = np.append(values, -price * (2.0 * before + 1.0))
        lower, upper = self._bound(fixed)
        bounds = np.append(lower, np.zeros(len(owners))), np.append(upper, np.ones(len(owners)))
        limits = [np.append(limit, np.zeros(reviewers)) for limit in (self._least, self._most)]
        return _solve(matrix, values, bounds, limits, integers=count)[0][:count]

    def bound_lowest(self, scores: Doubles) -> float:
        """Return what the lowest summed score of a submission cannot exceed. scores: (p,)."""
        papers, count = self.required.shape[0], len(self.pairs)
        lowest = sparse.csr_array(-np.ones((papers, 1)))
        matrix = sparse.block_array([[self._matrix, None], [_incidence(self.pairs.papers, papers, scores), lowest]])
        lower, upper = self._bound(None)
        bounds = np.append(lower, -UNBOUNDED), np.append(upper, UNBOUNDED)
        limits = np.append(self._least, np.zeros(papers)), np.append(self._most, np.full(papers, UNBOUNDED))
        return float(_solve(matrix, np.append(np.zeros(count), 1.0), bounds, limits, interior=True)[0][-1])

    def find_lack(self) -> Lack | None:
        """Return what cannot be met by these pairs: the elastic programme, in which it may lack at a cost of 1."""
        papers, reviewers = self.required.shape
        count, rows = len(self.pairs), len(self._least)
        matrix = sparse.hstack([self._matrix, sparse.eye_array(rows)])
        bounds = np.zeros(count + rows), np.append(np.ones(count), np.full(rows, UNBOUNDED))
        values = np.append(LOCK_PRICE * self.locked, -np.ones(rows))
        columns, prices = _solve(matrix, values, bounds, (self._least, self._most))
        dropped = columns[:count][self.locked] < 0.5
        if not dropped.any() and (columns[count:] <= TOLERANCE).all():
            return None
        (reviews, minimum, groups), gained = (
            np.split(part, [papers, papers + reviewers]) for part in (columns[count:], prices)
        )
        of_groups = gained[2].reshape(-1, papers)
        return Lack(reviews, minimum, groups.reshape(-1, papers), dropped, (gained[0], gained[1], of_groups))

    def _bound(self, fixed: Mask | None) -> tuple[Doubles, Doubles]:
        held = self.locked if fixed is None else self.locked | fixed
        return held.astype(float), np.ones(len(held))


def _incidence(rows: Rows, count: int, weights: Any = 1.0) -> Any:
    """Return the matrix (count, n) in which column i has one entry, in rows[i]; weights of 0 have none."""
    numbers = np.broadcast_to(weights, len(rows)).astype(float)
    matrix = sparse.csr_array((numbers, (rows, np.arange(len(rows)))), shape=(count, len(rows)))
    matrix.eliminate_zeros()
    return matrix


def _solve(
    matrix: Any, values: Doubles, bounds: Any, limits: Any, *, integers: int = 0, interior: bool = False
) -> tuple[Doubles, Doubles]:
    """Return the columns of the solution with the highest value, and the prices of the rows.

    bounds, limits: lowest and highest of each column, and of each row. integers: how many of the first columns must be
    integral: they are variables of that kind only where the plain solution is not. interior: by an interior point
    method, which is faster where rows are dense.
    """
    matrix, (low, high) = matrix.tocsr(), (np.asarray(limit, float) for limit in limits)
    equal = low == high
    above, below = ~equal & (high < UNBOUNDED), ~equal & (low > -UNBOUNDED)
    upper = sparse.vstack([matrix[above], -matrix[below]]), np.concatenate([high[above], -low[below]])
    rows = (*upper, matrix[equal], low[equal], np.stack(bounds, axis=1), "highs-ipm" if interior else "highs")
    whole: dict[str, Any] = {"integrality": np.arange(len(values)) < integers, "options": {"mip_rel_gap": GAP}}
    for options in ({}, whole):
        found = linprog(-values, *rows, **options)
        if not found.success:
            raise RunFailedError(f"HiGHS found no assignment: {found.message}")
        if (np.abs(found.x[:integers] - np.round(found.x[:integers])) < TOLERANCE).all():
            break
    prices = np.zeros(len(low))
    prices[equal] = found.eqlin.marginals
    prices[above] += found.ineqlin.marginals[: above.sum()]
    prices[below] -= found.ineqlin.marginals[above.sum() :]
    return found.x, prices


STEPS = 12  # halvings of the interval in which the best reachable goal is
SLACK = 1e-7  # of sums and amounts
LOAD_PRICE = 100.0  # price of a step of unevenness, in ranges of the values: more than a chain of exchanges gains


def assign_fairly(program: AssignmentProgram, values: Doubles, start: Mask) -> tuple[Mask, float]:
    """Return an assignment that serves the worst submission well, and then has a high sum; and a bound.

    start: an assignment with the highest sum. values: (p,) of pairs, which a submission's score sums. The bound is
    what the worst submission's score cannot exceed.
    """
    pairs, papers = program.pairs, program.required.shape[0]
    bound = program.bound_lowest(values)
    worst = float(sum_by_paper(pairs, values, start, papers).min())
    best, low, high = start, worst, bound
    for _ in range(STEPS):
        goal = (low + high) / 2
        if high - low <= SLACK * max(1.0, abs(high)):
            break
        chains = ExchangeChains(program, values, best)
        if chains.raise_to(goal):
            best, low = chains.chosen, float(sum_by_paper(pairs, values, chains.chosen, papers).min())
        else:
            high = goal
    return _serve_all(program, values, best, low, lambda fixed: program.solve(values, fixed=fixed)), bound


def even_loads(program: AssignmentProgram, values: Doubles, start: Mask, earlier: Integers) -> Mask:
    """Return an assignment with even loads, then a high sum, that serves no submission worse than `start` its worst.

    earlier: loads of earlier rounds (m,), which count. Reviewers of whom nothing is known get no more submissions than
    they must.
    """
    pairs = program.pairs
    worst = float(sum_by_paper(pairs, values, start, program.required.shape[0]).min())
    price = LOAD_PRICE * max(1e-3, float(np.ptp(values)))
    unknown = (pairs.scores == 0) & ~start
    charged = values - unknown * price * (2 * float(program.required.most.max() + earlier.max()) + 1)
    return _serve_all(program, values, start, worst, lambda fixed: program.solve_evenly(charged, price, earlier, fixed))


def sum_by_paper(pairs: PairTable, values: Doubles, chosen: Mask, papers: int) -> Doubles:
    """Return the summed values of each submission's assigned pairs, (n,)."""
    sums: Doubles = np.bincount(pairs.papers[chosen], values[chosen], minlength=papers).astype(np.float64)
    return sums


def _serve_all(
    program: AssignmentProgram, values: Doubles, start: Mask, worst: float, solve: Callable[[Mask], Doubles]
) -> Mask:
    """Return the best assignment that serves no submission worse than `worst`. solve: with some pairs fixed.

    Submissions that would be served worse keep their reviewers of `start`, until none is left; each programme is a
    network, so each solution is integral.
    """
    pairs, papers = program.pairs, program.required.shape[0]
    held = np.zeros(papers, bool)
    while True:
        chosen = solve(start & held[pairs.papers]) > 0.5
        below = sum_by_paper(pairs, values, chosen, papers) < worst - SLACK
        if not below.any():
            return chosen
        held |= below


class ExchangeChains:
    """An assignment whose submissions are raised by chains of exchanges that keep all requirements.

    sums: of each submission's values. pairs_of: the assigned pairs of each reviewer.
    """

    def __init__(self, program: AssignmentProgram, values: Doubles, chosen: Mask) -> None:
        self._required, self._locked, self._values = program.required, program.locked, values
        papers, reviewers = program.required.shape
        self._papers, self._reviewers = program.pairs.papers.tolist(), program.pairs.reviewers.tolist()
        self._starts = np.searchsorted(program.pairs.papers, np.arange(papers + 1)).tolist()
        self.chosen, self.sums = chosen.copy(), sum_by_paper(program.pairs, values, chosen, papers)
        self.pairs_of: list[set[int]] = [set() for _ in range(reviewers)]
        for pair in np.flatnonzero(chosen).tolist():
            self.pairs_of[self._reviewers[pair]].add(pair)

    def raise_to(self, goal: float) -> bool:
        """Raise every submission to the goal; False where a chain is missing."""
        below = np.flatnonzero(self.sums < goal)
        for paper in below[np.argsort(self.sums[below], kind="stable")].tolist():
            while self.sums[paper] < goal - SLACK:
                pairs = range(self._starts[paper], self._starts[paper + 1])
                own = sorted((p for p in pairs if self.chosen[p] and not self._locked[p]), key=self._values.item)
                # first whole steps to the goal, then any gain; equal ones would be exchanged without end
                gains = (goal - self.sums[paper], 2 * SLACK)
                if not any(self._follow_chain(paper, released, gain, goal) for gain in gains for released in own):
                    return False
        return True

    def _follow_chain(self, paper: int, released: int, gain: float, goal: float) -> bool:
        """Exchange `released` for a pair better by `gain`, others following; False where no chain ends."""
        first = self._reviewers[released]
        can_leave = len(self.pairs_of[first]) > self._required.least[first]
        came: dict[int, tuple[int, int]] = {}  # reviewer -> the pair that leaves and the pair that takes the reviewer
        waiting = deque([(released, gain)])
        while waiting:
            leaving, least = waiting.popleft()
            chain = [leaving]
            while chain[-1] != released:
                chain.append(came[self._reviewers[chain[-1]]][0])
            before = {self._papers[pair] for pair in chain}  # no submission changes twice
            for pair in self._list_better(leaving, least):
                reviewer = self._reviewers[pair]
                if reviewer in came:
                    continue
                came[reviewer] = (leaving, pair)
                has_room = can_leave and len(self.pairs_of[reviewer]) < self._required.most[reviewer]
                if has_room or (reviewer == first and self._papers[pair] != paper):
                    for left in chain:
                        self._exchange(*came[reviewer])
                        reviewer = self._reviewers[left]
                    return True
                for other in self.pairs_of[reviewer]:
                    holder = self._papers[other]
                    if holder not in before and not self._locked[other]:
                        waiting.append((other, min(goal, self.sums[holder]) - self.sums[holder]))
        return False

    def _list_better(self, leaving: int, gain: float) -> list[int]:
        """Return the pairs that a submission may take for one that leaves, the best first."""
        paper = self._papers[leaving]
        part = slice(self._starts[paper], self._starts[paper + 1])
        fits = ~self.chosen[part] & (self._values[part] >= self._values[leaving] + gain - SLACK)
        reviewers = np.array(self._reviewers[part])
        for group in self._required.groups:
            count = group.members[reviewers[self.chosen[part]]].sum() - group.members[self._reviewers[leaving]]
            fits &= group.members[reviewers] | (count >= min(group.minimum, self._required.needs[paper]))
        pairs = np.flatnonzero(fits)
        ordered: list[int] = (part.start + pairs[np.argsort(-self._values[part][pairs], kind="stable")]).tolist()
        return ordered

    def _exchange(self, leaving: int, entering: int) -> None:
        for pair, step in ((leaving, -1), (entering, 1)):
            held = self.pairs_of[self._reviewers[pair]]
            self.chosen[pair] = step > 0
            self.sums[self._papers[pair]] += step * self._values[pair]
            (held.add if step > 0 else held.remove)(pair)


DIGITS = 6  # decimal places of scores: further ones depend on the order of sums, and would make ties differ by machine
TIE = 1e-7  # of scores that are equal
BLOCK = 1 << 24  # scores that are ordered at once
BID_WEIGHT = 0.1  # of a bid of 1, beside a score
BONUS = 100.0  # of a kept pair, and off a vetoed one, in ranges of the scores: more than chains of exchanges gain
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
    def of_file(cls, given: Pairs, shape: tuple[int, int]) -> PairScores:
        """Return the scores that a file gives."""
        rows = split_pairs(given)
        return cls(sparse.csr_array(([value for value, _ in given.values()], rows), shape, np.float64), rows)

    def build_pairs(self, required: Requirements, *parts: tuple[Rows, Rows]) -> PairTable:
        """Return the allowed ones of some pairs with their scores, each once and in order."""
        keys = np.unique(np.concatenate([papers * required.shape[1] + reviewers for papers, reviewers in parts]))
        papers, reviewers = np.divmod(keys, required.shape[1])
        allowed = ~required.are_among(required.forbidden, papers, reviewers)
        papers, reviewers = papers[allowed], reviewers[allowed]
        return PairTable(papers, reviewers, self.matrix[papers, reviewers].astype(np.float64).round(DIGITS))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SolvedAssignment:
    """The assigned pairs with scores and values (score and bid), and what limits them.

    all, all_values: the pairs that were chosen from. bound: of a submission's summed values, where the objective is
    fair. best_sum: the highest sum, where it was computed. kept, moved: pairs of an earlier assignment. vetoed: pairs
    that are assigned in spite of a veto. uneven: the pairs before loads were balanced.
    """

    pairs: PairTable
    values: Doubles
    all: PairTable
    all_values: Doubles
    bound: float | None = None
    best_sum: float | None = None
    kept: int | None = None
    moved: int | None = None
    vetoed: int | None = None
    uneven: PairTable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentTask:
    """What is to be solved: requirements, scores, stated pairs, settings."""

    required: Requirements
    scores: PairScores
    stated: StatedPairs
    settings: MatchSettings


def solve_assignment(task: AssignmentTask) -> SolvedAssignment:
    """Return the assignment; InputError that names what cannot be met where there is none.

    Below a `max_probability` of 1, each pair is vetoed with the rest of the probability, so none is more probable. A
    vetoed pair is assigned only where no assignment is possible without it.
    """
    required, settings, stated = task.required, task.settings, task.stated
    pairs = find_pairs(task)
    try:
        program, values, bonus = _set_goals(task, pairs)
        amounts = program.solve(values + bonus)
    except RunFailedError:  # the candidates do not suffice
        pairs = complete_pairs(task, pairs)
        program, values, bonus = _set_goals(task, pairs)
        amounts = program.solve(values + bonus)
    chosen, found = amounts > 0.5, dict[str, Any]()
    if stated.kept:
        kept = chosen & (bonus > 0)
        locked = zip(required.locked, (pairs.papers[kept], pairs.reviewers[kept]), strict=True)
        rows, numbers = map(np.concatenate, locked)
        required = replace(required, locked=(rows, numbers))
        found |= {"kept": int(kept.sum()), "moved": len(stated.kept) - int(kept.sum())}
    else:
        found["best_sum"] = float(values @ (program.solve(values) if bonus.any() else amounts))
    if settings.max_probability < 1:
        found["vetoed"] = int((chosen & (bonus < 0)).sum())
    open_rows = np.flatnonzero(chosen | (bonus >= 0))
    usable, worth, chosen = pairs.take(open_rows), values[open_rows], chosen[open_rows]
    program = AssignmentProgram(required, usable) if bonus.any() else program
    if settings.objective == "fair":
        chosen, found["bound"] = assign_fairly(program, worth, chosen)
    if settings.balance:
        found["uneven"] = usable.take(np.flatnonzero(chosen))
        chosen = even_loads(program, worth, chosen, stated.list_loads(required.shape[1]))
    assigned = np.flatnonzero(chosen)
    return SolvedAssignment(pairs=usable.take(assigned), values=worth[assigned], all=pairs, all_values=values, **found)


def find_pairs(task: AssignmentTask) -> PairTable:
    """Return the candidates: the best of each submission, of its groups and of each reviewer, and those files name."""
    required, stated, scores = task.required, task.stated, task.scores
    papers, reviewers = required.shape
    named = [pair for pair, (bid, _) in stated.bids.items() if bid > 0]
    parts = [split_pairs([*named, *stated.kept]), required.locked]
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
    while (lack := AssignmentProgram(required, pairs).find_lack()) is not None:
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
            f"{_name(rows, required.paper_ids, 'submission')} must have {count(required.needs[rows].sum(), 'review')}, "
            f"and the {count(int(((free > 0) & (required.most > 0)).sum()), 'reviewer')} without conflict may write at "
            f"most {np.minimum(free, required.most).sum():,} of them: {round(lack.reviews.sum()):,} too few"
        )
    if lack.minimum.sum() > TOLERANCE:
        rows = np.flatnonzero(lack.minimum > TOLERANCE)
        parts.append(
            f"the minimum loads of {_name(rows, required.reviewer_ids, 'reviewer')} are too high by "
            f"{count(round(lack.minimum.sum()), 'review')}: all minima add up to {required.least.sum():,}, "
            f"and {count(required.shape[0], 'submission')} must have {required.needs.sum():,}"
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
        "the reviewers' minima or --require, add reviewers, or remove locks and wrong conflicts"
    )


def _name(rows: Rows, ids: Sequence[str], noun: str) -> str:
    """Return "7 submissions (a, b, c, d, e and others)"."""
    more = " and others" if len(rows) > MAX_NAMED else ""
    return f"{count(len(rows), noun)} ({', '.join(ids[row] for row in rows[:MAX_NAMED])}{more})"


def _set_goals(task: AssignmentTask, pairs: PairTable) -> tuple[AssignmentProgram, Doubles, Doubles]:
    """Return the programme, the values of its pairs (score and bid), and what keeping or vetoing each adds to them."""
    bids, kept = (
        look_up(stated, pairs.papers, pairs.reviewers, task.required.shape)
        for stated in (task.stated.bids, task.stated.kept)
    )
    values, settings = pairs.scores + BID_WEIGHT * bids, task.settings
    vetoed = np.random.default_rng(settings.seed).random(len(pairs)) >= settings.max_probability
    bonus = BONUS * max(1e-3, float(np.ptp(values)) if len(values) else 0.0)
    return AssignmentProgram(task.required, pairs), values, bonus * np.where(kept, 1.0, -1.0 * vetoed)

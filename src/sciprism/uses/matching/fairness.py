"""Raise the worst-served submission, then the sum.

The exact problem is NP-hard (Garg et al. 2010, Assigning papers to referees). Its linear relaxation bounds the worst
submission from above; chains of exchanges raise the worst ones towards that bound: a submission takes a better
reviewer from another one, which takes a third reviewer, and so on, while none falls below the goal.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.errors import InputError, RunFailedError
from sciprism.uses.matching.program import AssignmentProgram, Mask, PairTable, Requirements

STEPS = 12  # halvings of the interval in which the best reachable goal is
SLACK = 1e-7
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
    return _serve_all(program, values, best, low, lambda fixed: program.solve(values, fixed=fixed).chosen), bound


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
    program: AssignmentProgram, values: Doubles, start: Mask, worst: float, solve: Callable[[Mask], Mask]
) -> Mask:
    """Return the best assignment that serves no submission worse than `worst`. solve: with some pairs fixed.

    Submissions that would be served worse keep their reviewers of `start`, until none is left; each programme is a
    network, so each solution is integral.
    """
    pairs, papers = program.pairs, program.required.shape[0]
    held = np.zeros(papers, bool)
    while True:
        chosen = solve(start & held[pairs.papers])
        below = sum_by_paper(pairs, values, chosen, papers) < worst - SLACK
        if not below.any():
            return chosen
        held |= below


class ExchangeChains:
    """An assignment whose submissions are raised by chains of exchanges that keep all requirements.

    sums: of each submission's values. loads: of each reviewer, of whom `pairs_of` holds the assigned pairs.
    """

    def __init__(self, program: AssignmentProgram, values: Doubles, chosen: Mask) -> None:
        self._required, self._pairs, self._locked, self._values = (
            program.required,
            program.pairs,
            program.locked,
            values,
        )
        papers, reviewers = program.required.shape
        self._starts = np.searchsorted(program.pairs.papers, np.arange(papers + 1))
        self.chosen, self.sums = chosen.copy(), sum_by_paper(program.pairs, values, chosen, papers)
        assigned: Rows = np.flatnonzero(chosen)
        self.loads: Integers = np.bincount(program.pairs.reviewers[assigned], minlength=reviewers)
        self.pairs_of: list[set[int]] = [set() for _ in range(reviewers)]
        for pair in assigned.tolist():
            self.pairs_of[program.pairs.reviewers[pair]].add(pair)

    def raise_to(self, goal: float) -> bool:
        """Raise every submission to the goal; False where a chain is missing."""
        below = np.flatnonzero(self.sums < goal)
        for paper in below[np.argsort(self.sums[below], kind="stable")].tolist():
            while self.sums[paper] < goal - SLACK:
                if not self._raise_paper(paper, goal):
                    return False
        return True

    def _raise_paper(self, paper: int, goal: float) -> bool:
        """Raise one submission, to the goal where one chain does, else as far as one goes; False where none does."""
        first, last = self._starts[paper], self._starts[paper + 1]
        own: list[int] = (first + np.flatnonzero(self.chosen[first:last])).tolist()
        assigned = sorted((pair for pair in own if not self._locked[pair]), key=lambda pair: self._values[pair])
        for full in (True, False):  # first whole steps to the goal
            for released in assigned:
                least = goal - self.sums[paper] if full else 2 * SLACK  # equal ones would be exchanged without end
                if self._find_chain(paper, released, least, goal):
                    return True
        return False

    def _find_chain(self, paper: int, released: int, gain: float, goal: float) -> bool:
        """Exchange `released` for a pair better by `gain`, others following; False where no chain ends."""
        first_reviewer = int(self._pairs.reviewers[released])
        can_leave = self.loads[first_reviewer] > self._required.least[first_reviewer]
        came: dict[int, tuple[int, int]] = {}  # reviewer -> the pair that leaves and the pair that takes the reviewer
        waiting = deque([(released, gain)])
        while waiting:
            leaving, least = waiting.popleft()
            current = int(self._pairs.papers[leaving])
            before = self._walk_back(came, leaving, released)
            for pair in self._better(current, leaving, least):
                reviewer = int(self._pairs.reviewers[pair])
                if reviewer in came:
                    continue
                came[reviewer] = (leaving, pair)
                ends = reviewer == first_reviewer and current != paper
                if ends or (can_leave and self.loads[reviewer] < self._required.most[reviewer]):
                    self._follow(reviewer, came, released)
                    return True
                for other in self.pairs_of[reviewer]:
                    holder = int(self._pairs.papers[other])
                    if holder not in before and not self._locked[other]:
                        waiting.append((other, min(goal, self.sums[holder]) - self.sums[holder]))
        return False

    def _walk_back(self, came: dict[int, tuple[int, int]], leaving: int, released: int) -> set[int]:
        """Return the submissions of the chain that ends where a pair leaves: none changes twice."""
        papers = {int(self._pairs.papers[leaving])}
        while leaving != released:
            leaving = came[int(self._pairs.reviewers[leaving])][0]
            papers.add(int(self._pairs.papers[leaving]))
        return papers

    def _better(self, paper: int, leaving: int, gain: float) -> list[int]:
        """Return the pairs that a submission may take for one that leaves, the best first."""
        part = slice(int(self._starts[paper]), int(self._starts[paper + 1]))
        fits = ~self.chosen[part] & (self._values[part] >= self._values[leaving] + gain - SLACK)
        reviewers = self._pairs.reviewers[part]
        for group in self._required.groups:
            count = group.members[reviewers[self.chosen[part]]].sum() - group.members[self._pairs.reviewers[leaving]]
            fits &= group.members[reviewers] | (count >= min(group.minimum, self._required.needs[paper]))
        pairs = np.flatnonzero(fits)
        ordered: list[int] = (part.start + pairs[np.argsort(-self._values[part][pairs], kind="stable")]).tolist()
        return ordered

    def _follow(self, reviewer: int, came: dict[int, tuple[int, int]], released: int) -> None:
        """Carry out the exchanges of a chain, from its end."""
        leaving = -1
        while leaving != released:
            leaving, pair = came[reviewer]
            self.exchange(leaving, pair)
            reviewer = int(self._pairs.reviewers[leaving])

    def exchange(self, leaving: int, entering: int) -> None:
        """Replace a pair of a submission by another one."""
        for pair, assigned in ((leaving, False), (entering, True)):
            reviewer = self._pairs.reviewers[pair]
            self.chosen[pair] = assigned
            sign = 1 if assigned else -1
            self.loads[reviewer] += sign
            self.sums[self._pairs.papers[pair]] += sign * self._values[pair]
            (self.pairs_of[reviewer].add if assigned else self.pairs_of[reviewer].remove)(pair)


PIECES = 4  # linear pieces of the concave function
CONCAVITIES = (0.5, 0.25, 0.1, 0.05, 0.02, 0.01)
"""Factors c in x - c x^2, the most random first; from 0.5 on, more probability would be worse."""
TOLERANCE = 1e-7


def assign_at_random(
    required: Requirements, pairs: PairTable, values: Doubles, *, max_probability: float, least: float, seed: int
) -> tuple[Mask, Doubles]:
    """Return a sampled assignment, and the probability of each pair, at most `max_probability` if it is not locked.

    least: the expected sum to reach; the most random of `CONCAVITIES` that reaches it decides, else the linear
    function, which has the highest sum. Raises InputError where the groups overlap, or where the probability is too
    small for the loads.
    """
    members = [group.members for group in required.groups]
    if members and np.sum(members, axis=0).max() > 1:
        raise InputError("a perturbed assignment needs groups that do not overlap; require groups of one column")
    try:
        amounts = _choose_probabilities(required, pairs, values, max_probability, least)
    except RunFailedError as error:
        raise InputError(
            f"no assignment gives every pair a probability of at most {max_probability}: raise --max-probability, "
            "--candidates or --max-papers"
        ) from error
    probabilities = np.clip(amounts, 0.0, 1.0)
    return _Network(required, pairs, probabilities).round(np.random.default_rng(seed)), probabilities


def _choose_probabilities(
    required: Requirements, pairs: PairTable, values: Doubles, highest: float, least: float
) -> Doubles:
    """Return the probabilities of the most random function whose expected sum is enough.

    The linear one has the highest sum and is solved first, in one piece; the others are searched by halving.
    """
    best = AssignmentProgram(required, pairs, upper=highest).solve(values, relaxed=True).amounts
    chosen, program = best, None
    middles = (np.arange(PIECES) + 0.5) / PIECES * highest
    shifted = values - min(0.0, float(values.min()))
    low, high = 0, len(CONCAVITIES)  # the first that is enough is at low or after, before high it is known to be
    while low < high and best @ values >= least:
        program = program or AssignmentProgram(required, pairs, copies=PIECES, upper=highest)
        middle = (low + high) // 2
        amounts = program.solve((1 - 2 * CONCAVITIES[middle] * middles)[:, None] * shifted).amounts
        if amounts @ values >= least:
            chosen, high = amounts, middle
        else:
            low = middle + 1
    return chosen


class _Network:
    """The flow of an assignment: submission -> group of the reviewer -> reviewer -> sink.

    Each node's flow is integral in sum, so edges that are not integral form cycles.
    """

    def __init__(self, required: Requirements, pairs: PairTable, amounts: Doubles) -> None:
        papers, reviewers = required.shape
        group_of = np.zeros(reviewers, np.int64)
        for number, group in enumerate(required.groups, 1):
            group_of[group.members] = number
        kinds = len(required.groups) + 1
        inner = pairs.papers * kinds + group_of[pairs.reviewers]
        flows = np.bincount(inner, amounts, minlength=papers * kinds)
        loads = np.bincount(pairs.reviewers, amounts, minlength=reviewers)
        first_inner, first_reviewer = papers, papers + papers * kinds
        sink = np.full(reviewers, first_reviewer + reviewers)
        inner_nodes, reviewer_nodes = first_inner + np.arange(papers * kinds), first_reviewer + np.arange(reviewers)
        tails = np.concatenate([first_inner + inner, np.repeat(np.arange(papers), kinds), reviewer_nodes])
        heads = np.concatenate([first_reviewer + pairs.reviewers, inner_nodes, sink])
        self._tails, self._heads = tails.tolist(), heads.tolist()
        self._amounts = np.concatenate([amounts, flows, loads]).tolist()
        self._pairs = len(pairs)
        self._open: dict[int, set[int]] = {}  # node -> its edges that are not integral
        for edge, amount in enumerate(self._amounts):
            if abs(amount - round(amount)) > TOLERANCE:
                for node in (self._tails[edge], self._heads[edge]):
                    self._open.setdefault(node, set()).add(edge)

    def round(self, rng: np.random.Generator) -> Mask:
        """Shift flow along cycles, each way with the probability that keeps the means; return the assigned pairs."""
        while self._open:
            cycle = self._find_cycle()
            if cycle:
                self._shift(cycle, rng)
        chosen: Mask = np.array(self._amounts[: self._pairs]) > 0.5
        return chosen

    def _find_cycle(self) -> list[tuple[int, int]]:
        """Return the edges of a cycle, each with 1 if walked from tail to head, else -1.

        Nothing where the walk ended: rounding errors left a single edge at a node, which is closed.
        """
        node = next(iter(self._open))
        places = {node: 0}
        path: list[tuple[int, int]] = []
        while True:
            last = path[-1][0] if path else -1
            edge = next((other for other in self._open[node] if other != last), -1)
            if edge < 0:
                self._close(last)
                return []
            sign = 1 if self._tails[edge] == node else -1
            node = self._heads[edge] if sign > 0 else self._tails[edge]
            path.append((edge, sign))
            if node in places:
                return path[places[node] :]
            places[node] = len(path)

    def _shift(self, cycle: list[tuple[int, int]], rng: np.random.Generator) -> None:
        amounts = self._amounts
        up = min(_room(amounts[edge], sign) for edge, sign in cycle)
        down = min(_room(amounts[edge], -sign) for edge, sign in cycle)
        step = up if rng.random() * (up + down) < down else -down
        for edge, sign in cycle:
            amounts[edge] += sign * step
            if abs(amounts[edge] - round(amounts[edge])) <= TOLERANCE:
                self._close(edge)

    def _close(self, edge: int) -> None:
        self._amounts[edge] = round(self._amounts[edge])
        for node in (self._tails[edge], self._heads[edge]):
            self._open[node].discard(edge)
            if not self._open[node]:
                del self._open[node]


def _room(amount: float, sign: int) -> float:
    """Return how far an amount may move up, or down, until it is integral."""
    return math.ceil(amount) - amount if sign > 0 else amount - math.floor(amount)

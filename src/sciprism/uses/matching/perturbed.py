"""Random assignments of nearly the highest sum: perturbed maximisation, then sampling.

A pair is assigned with a probability of at most Q, which the maximum of a concave function of the probabilities
decides (Xu, Jecmen, Song and Fang 2023, A One-Size-Fits-All Approach to Improving Randomness in Paper Assignment;
their quadratic function, here in linear pieces). The probabilities are then rounded at random along cycles, which
changes none of their means (Gandhi et al. 2006, Dependent rounding).
"""

from __future__ import annotations

import math

import numpy as np

from sciprism.arrays import Doubles
from sciprism.errors import InputError, RunFailedError
from sciprism.uses.matching.problem import Mask, PairTable, Requirements
from sciprism.uses.matching.program import AssignmentProgram

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

"""The linear programme of an assignment, solved by HiGHS.

Loads alone, and one column of groups that do not overlap, form a network: every basic solution is integral. Only
overlapping groups need integer variables.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.errors import RunFailedError, import_extra

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
class ProgramSolution:
    """What a programme found. amounts: (p,) of each pair; objective: their summed values."""

    amounts: Doubles
    objective: float

    @property
    def chosen(self) -> Mask:
        """Return which pairs are assigned."""
        return self.amounts > 0.5


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

    def __bool__(self) -> bool:
        lacking = np.concatenate([self.reviews, self.minimum, self.groups.ravel(), self.locks])
        return bool((lacking > TOLERANCE).any())


class AssignmentProgram:
    """Maximize the summed value of assigned pairs under the requirements.

    copies: columns of each pair, whose sum is the pair's amount: parts of a concave function. upper: of the amount
    of a pair that is not locked.
    """

    def __init__(self, required: Requirements, pairs: PairTable, *, copies: int = 1, upper: float = 1.0) -> None:
        self.required, self.pairs, self.copies = required, pairs, copies
        self.locked = required.are_among(required.locked, pairs.papers, pairs.reviewers)
        self._upper = np.where(self.locked, 1.0, upper) / copies
        papers, reviewers = required.shape
        minima = [np.minimum(group.minimum, required.needs) for group in required.groups]
        members = [group.members[pairs.reviewers] for group in required.groups]
        self._papers, self._reviewers = _incidence(pairs.papers, papers), _incidence(pairs.reviewers, reviewers)
        grouped = [_incidence(pairs.papers, papers, inside) for inside in members]
        self._matrix = sparse.vstack([self._papers, self._reviewers, *grouped])
        self._least = np.concatenate([required.needs, required.least, *minima])
        self._most = np.concatenate([required.needs, required.most, *(required.needs for _ in members)])

    def solve(self, values: Doubles, *, fixed: Mask | None = None, relaxed: bool = False) -> ProgramSolution:
        """Return the best solution. values: (p,) or (copies, p). fixed: pairs that are assigned, besides the locked.

        Integer variables are used where groups overlap, unless the relaxed solution is asked for. Raises
        RunFailedError where HiGHS finds no solution.
        """
        matrix = sparse.hstack([self._matrix] * self.copies)
        values, bounds = values.ravel(), [np.tile(bound, self.copies) for bound in self._bound(fixed)]
        values = np.tile(values, matrix.shape[1] // max(1, len(values)))
        integers = 0 if relaxed or self.copies > 1 else len(values)
        columns, _ = _solve(matrix, values, bounds, (self._least, self._most), integers=integers)
        return ProgramSolution(columns.reshape(self.copies, -1).sum(axis=0), float(values @ columns))

    def solve_evenly(self, values: Doubles, price: float, loads: Integers, fixed: Mask) -> Mask:
        """Return the pairs with the highest sum of values where a reviewer's n-th submission costs 2 n - 1 prices.

        So loads are as even as the price outweighs values. loads: of each reviewer in earlier rounds (m,).
        """
        reviewers, count = self.required.shape[1], len(self.pairs)
        room = np.minimum(self.required.most, np.bincount(self.pairs.reviewers, minlength=reviewers))
        owners = np.repeat(np.arange(reviewers), room)
        before = loads[owners] + np.arange(len(owners)) - np.repeat(np.cumsum(room) - room, room)
        matrix = sparse.block_array([[self._matrix, None], [self._reviewers, -_incidence(owners, reviewers)]])
        values = np.concatenate([values, -price * (2.0 * before + 1.0)])
        lower, upper = self._bound(fixed)
        bounds = np.concatenate([lower, np.zeros(len(owners))]), np.concatenate([upper, np.ones(len(owners))])
        zeros = np.zeros(reviewers)
        limits = np.concatenate([self._least, zeros]), np.concatenate([self._most, zeros])
        chosen: Mask = _solve(matrix, values, bounds, limits, integers=count)[0][:count] > 0.5
        return chosen

    def bound_lowest(self, scores: Doubles) -> float:
        """Return what the lowest summed score of a submission cannot exceed. scores: (p,)."""
        papers, count = self.required.shape[0], len(self.pairs)
        lowest = sparse.csr_array(-np.ones((papers, 1)))
        matrix = sparse.block_array([[self._matrix, None], [_incidence(self.pairs.papers, papers, scores), lowest]])
        lower, upper = self._bound(None)
        bounds = np.append(lower, -UNBOUNDED), np.append(upper, UNBOUNDED)
        limits = (
            np.concatenate([self._least, np.zeros(papers)]),
            np.concatenate([self._most, np.full(papers, UNBOUNDED)]),
        )
        return float(_solve(matrix, np.append(np.zeros(count), 1.0), bounds, limits, interior=True)[0][-1])

    def find_lack(self) -> Lack:
        """Return what cannot be met by these pairs: the elastic programme, in which it may lack at a cost of 1."""
        papers, reviewers = self.required.shape
        count, rows = len(self.pairs), len(self._least)
        matrix = sparse.hstack([self._matrix, sparse.eye_array(rows)])
        bounds = np.zeros(count + rows), np.concatenate([np.ones(count), np.full(rows, UNBOUNDED)])
        values = np.concatenate([LOCK_PRICE * self.locked, -np.ones(rows)])
        columns, prices = _solve(matrix, values, bounds, (self._least, self._most))
        (reviews, minimum, groups), of_rows = (
            np.split(part, [papers, papers + reviewers]) for part in (columns[count:], prices)
        )
        return Lack(
            reviews=reviews,
            minimum=minimum,
            groups=groups.reshape(-1, papers),
            locks=columns[:count][self.locked] < 0.5,
            prices=(of_rows[0], of_rows[1], of_rows[2].reshape(-1, papers)),
        )

    def _bound(self, fixed: Mask | None) -> tuple[Doubles, Doubles]:
        return np.where(self.locked if fixed is None else self.locked | fixed, self._upper, 0.0), self._upper


def _incidence(rows: Rows, count: int, weights: Any = 1.0) -> Any:
    """Return the matrix (count, n) in which column i has one entry, in rows[i]; weights of 0 have none."""
    numbers = np.broadcast_to(weights, len(rows)).astype(float)
    matrix = sparse.csr_array((numbers, (rows, np.arange(len(rows)))), shape=(count, len(rows)))
    matrix.eliminate_zeros()
    return matrix


def _solve(
    matrix: Any,
    values: Doubles,
    bounds: Any,
    limits: Any,
    *,
    integers: int = 0,
    interior: bool = False,
) -> tuple[Doubles, Doubles]:
    """Return the columns of the solution with the highest value, and the prices of the rows.

    bounds, limits: lowest and highest of each column, and of each row. integers: how many of the first columns must be
    integral: they are variables of that kind only where the plain solution is not. interior: any optimal solution will
    do, not only a basic one; an interior point method is many times faster where rows are dense.
    """
    with import_extra("match", "an assignment"):
        import highspy
    matrix = matrix.tocsc()
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = -values
    program.col_lower_, program.col_upper_ = bounds
    program.row_lower_, program.row_upper_ = (np.asarray(limit, float) for limit in limits)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    program.a_matrix_.value_ = matrix.data
    solver = _create_solver(highspy)
    solver.setOptionValue("random_seed", 0)
    solver.setOptionValue("mip_rel_gap", GAP)
    if interior:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
    for kinds in ([], [highspy.HighsVarType.kInteger] * integers):
        program.integrality_ = kinds + [highspy.HighsVarType.kContinuous] * (len(values) - integers) if kinds else []
        solver.passModel(program)
        solver.solve()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RunFailedError(f"HiGHS found no assignment: {solver.modelStatusToString(status)}")
        solution = solver.getSolution()
        columns = np.array(solution.col_value)
        if (np.abs(columns[:integers] - np.round(columns[:integers])) < TOLERANCE).all():
            break
    return columns, np.array(solution.row_dual)


def _create_solver(highspy: Any) -> Any:
    """Return a solver that prints nothing and that Ctrl-C stops.

    HiGHS serves Ctrl-C in one thread of a process at a time: in others, it solves without.
    """

    class QuietHighs(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802 (HiGHS prints a banner here unless it is silent before)
            self.silent()
            super().enableCallbacks()

    solver = QuietHighs()
    solver.HandleKeyboardInterrupt = threading.current_thread() is threading.main_thread()
    return solver

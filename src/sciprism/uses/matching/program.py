"""The linear programme of an assignment, solved by HiGHS.

Loads alone, and one column of groups that do not overlap, form a network: every basic solution is integral. Only
overlapping groups need integer variables.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.errors import RunFailedError, import_extra

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Pairs of a submission and a reviewer, each once, by submission and reviewer; all (p,)."""

    papers: Rows
    reviewers: Rows
    scores: Doubles

    def __len__(self) -> int:
        return len(self.papers)

    def keys(self, reviewers: int) -> Rows:
        """Return one number of each pair. reviewers: how many there are."""
        return self.papers * reviewers + self.reviewers

    def take(self, rows: Rows) -> PairTable:
        """Return some of the pairs: a mask, or positions in ascending order."""
        return PairTable(self.papers[rows], self.reviewers[rows], self.scores[rows])


def join_pairs(tables: list[PairTable], reviewers: int) -> PairTable:
    """Return the pairs of all tables in order, of a pair in several the first one's score."""
    keys = np.concatenate([table.keys(reviewers) for table in tables])
    distinct, first = np.unique(keys, return_index=True)
    papers, numbers = np.divmod(distinct, reviewers)
    return PairTable(papers, numbers, np.concatenate([table.scores for table in tables])[first])


class ForbiddenPairs:
    """The pairs that may not be assigned: of each submission its reviewers, of each reviewer its submissions."""

    def __init__(self, papers: Rows, reviewers: Rows, shape: tuple[int, int]) -> None:
        keys = np.unique(papers.astype(np.int64) * shape[1] + reviewers)
        self.keys, self.shape = keys, shape
        self.papers, self.reviewers = np.divmod(keys, shape[1])
        self._starts = np.searchsorted(self.papers, np.arange(shape[0] + 1))
        order = np.argsort(self.reviewers, kind="stable")
        self._by_reviewer = self.papers[order]
        self._reviewer_starts = np.searchsorted(self.reviewers[order], np.arange(shape[1] + 1))

    def __len__(self) -> int:
        return len(self.keys)

    def of_paper(self, paper: int) -> Rows:
        """Return the reviewers that a submission may not have."""
        return self.reviewers[self._starts[paper] : self._starts[paper + 1]]

    def of_reviewer(self, reviewer: int) -> Rows:
        """Return the submissions that a reviewer may not have."""
        return self._by_reviewer[self._reviewer_starts[reviewer] : self._reviewer_starts[reviewer + 1]]

    def between(self, start: int, stop: int) -> tuple[Rows, Rows]:
        """Return the pairs of the submissions from start to stop."""
        part = slice(self._starts[start], self._starts[stop])
        return self.papers[part], self.reviewers[part]

    def contain(self, papers: Rows, reviewers: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return whether each pair is in the set (n,)."""
        wanted = papers * self.shape[1] + reviewers
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        return self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), bool)


@dataclass(frozen=True, slots=True, eq=False)
class GroupMinimum:
    """At least `minimum` reviewers of each submission belong to a group. members: (reviewers,)."""

    name: str
    members: Mask
    minimum: int


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What every assignment satisfies, whatever its scores.

    needs: reviewers of each submission (n,). least, most: submissions of each reviewer (m,). locked: pairs
    (submissions, reviewers) that are part of every assignment. paper_ids, reviewer_ids: what messages call them.
    """

    paper_ids: list[str]
    reviewer_ids: list[str]
    needs: Integers
    least: Integers
    most: Integers
    forbidden: ForbiddenPairs
    locked: tuple[Rows, Rows] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    groups: tuple[GroupMinimum, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of submissions and reviewers."""
        return len(self.needs), len(self.most)


TOLERANCE = 1e-6
GAP = 1e-9  # of the highest sum, within which a solution is optimal; HiGHS takes 1e-4
UNBOUNDED = float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSolution:
    """What a programme found. amounts: (p,) of each pair; objective: their summed values."""

    amounts: Doubles
    objective: float

    @property
    def chosen(self) -> Mask:
        """Return which pairs are assigned."""
        return self.amounts > 0.5


class AssignmentProgram:
    """Maximize the summed value of assigned pairs under the requirements.

    copies: columns of each pair, whose sum is the pair's amount: parts of a concave function. upper: of the amount
    of a pair that is not locked.
    """

    def __init__(self, required: Requirements, pairs: PairTable, *, copies: int = 1, upper: float = 1.0) -> None:
        self.required, self.pairs, self.copies = required, pairs, copies
        locked_papers, locked_reviewers = required.locked
        self.locked = np.isin(pairs.keys(required.shape[1]), locked_papers * required.shape[1] + locked_reviewers)
        self._upper = np.where(self.locked, 1.0, upper) / copies

    def solve(self, values: Doubles, *, fixed: Mask | None = None, relaxed: bool = False) -> ProgramSolution:
        """Return the best solution. values: (p,) or (copies, p). fixed: pairs that are assigned, besides the locked.

        Integer variables are used where groups overlap, unless the relaxed solution is asked for. Raises
        RunFailedError where HiGHS finds no solution.
        """
        model = self._build(values, fixed)
        columns = model.solve()
        is_integral = (np.abs(columns - np.round(columns)) < TOLERANCE).all()
        if not (is_integral or relaxed or self.copies > 1):
            columns = model.solve(integers=model.columns)
        return ProgramSolution(columns.reshape(self.copies, -1).sum(axis=0), float(model.values @ columns))

    def solve_evenly(self, values: Doubles, price: float, loads: Integers, fixed: Mask) -> Mask:
        """Return the pairs with the highest sum of values where a reviewer's n-th submission costs 2 n - 1 prices.

        So loads are as even as the price outweighs values. loads: of each reviewer in earlier rounds (m,).
        """
        model = self._build(values, fixed)
        reviewers = self.required.shape[1]
        rows = model.add_rows(self.pairs.reviewers, np.zeros(reviewers), np.zeros(reviewers))
        room = np.minimum(self.required.most, np.bincount(self.pairs.reviewers, minlength=reviewers))
        owners = np.repeat(np.arange(reviewers), room)
        before = loads[owners] + np.arange(len(owners)) - np.repeat(np.cumsum(room) - room, room)
        steps = -price * (2.0 * before + 1.0)
        model.add_columns(steps, 0.0, 1.0, entries=(rows[owners], -np.ones(len(owners))))
        columns = model.solve()[: len(self.pairs)]
        if (np.abs(columns - np.round(columns)) > TOLERANCE).any():
            columns = model.solve(integers=len(self.pairs))[: len(self.pairs)]
        chosen: Mask = columns > 0.5
        return chosen

    def bound_lowest(self, scores: Doubles) -> float:
        """Return what the lowest summed score of a submission cannot exceed. scores: (p,)."""
        model = self._build(np.zeros(len(self.pairs)), None)
        papers = self.required.shape[0]
        rows = model.add_rows(self.pairs.papers, np.zeros(papers), np.full(papers, UNBOUNDED), entries=scores)
        model.add_columns(np.ones(1), -UNBOUNDED, UNBOUNDED, entries=(rows, -np.ones(papers)), shared=True)
        return float(model.solve(interior=True)[-1])

    def find_lacking(self) -> dict[str, list[int]]:
        """Return group -> submissions that cannot have its minimum, as few reviews short as possible."""
        model = self._build(np.zeros(len(self.pairs)), None)
        for row in self._group_rows:
            model.add_columns(-np.ones(len(row)), 0.0, UNBOUNDED, entries=(row, np.ones(len(row))))
        short = model.solve()[len(self.pairs) :].reshape(len(self._group_rows), -1) > TOLERANCE
        names = [group.name for group in self.required.groups]
        return {name: np.flatnonzero(row).tolist() for name, row in zip(names, short, strict=True) if row.any()}

    def _build(self, values: Doubles, fixed: Mask | None) -> _Model:
        papers, reviewers = self.pairs.papers, self.pairs.reviewers
        required, model = self.required, _Model()
        held = self.locked if fixed is None else self.locked | fixed
        for copy in range(self.copies):
            part = values if values.ndim == 1 else values[copy]
            model.add_columns(part, np.where(held, self._upper, 0.0), self._upper)
        model.add_rows(np.tile(papers, self.copies), required.needs, required.needs)
        model.add_rows(np.tile(reviewers, self.copies), required.least, required.most)
        self._group_rows: list[Rows] = []
        for group in required.groups:
            inside = np.flatnonzero(np.tile(group.members[reviewers], self.copies))
            least = np.minimum(group.minimum, required.needs)
            rows = model.add_rows(np.tile(papers, self.copies)[inside], least, required.needs, columns=inside)
            self._group_rows.append(rows)
        return model


class _Model:
    """A linear programme in the making: columns with values and bounds, rows with bounds, entries."""

    def __init__(self) -> None:
        self.columns = self.rows = 0
        self.values: Doubles = np.zeros(0)
        self._bounds: list[tuple[Doubles, Doubles]] = []
        self._limits: list[tuple[Doubles, Doubles]] = []
        self._entries: list[tuple[Rows, Rows, Doubles]] = []

    def add_columns(
        self,
        values: Doubles,
        lower: Doubles | float,
        upper: Doubles | float,
        *,
        entries: tuple[Rows, Doubles] | None = None,
        shared: bool = False,
    ) -> None:
        """Add columns (c,). entries: a row and a number of each, or all of one column that is shared."""
        count = len(values)
        self._bounds.append((np.broadcast_to(lower, count).astype(float), np.broadcast_to(upper, count).astype(float)))
        if entries is not None:
            rows, numbers = entries
            columns = np.full(len(rows), self.columns) if shared else self.columns + np.arange(count)
            self._entries.append((rows, columns, numbers))
        self.values = np.concatenate([self.values, values])
        self.columns += count

    def add_rows(
        self,
        of_entry: Rows,
        lower: Integers | Doubles,
        upper: Integers | Doubles,
        *,
        columns: Rows | None = None,
        entries: Doubles | None = None,
    ) -> Rows:
        """Add rows (r,) and return their numbers. of_entry: the new row, from 0, of each column, or of `columns`."""
        columns = np.arange(len(of_entry)) if columns is None else columns
        numbers = np.ones(len(of_entry)) if entries is None else entries
        self._entries.append((self.rows + of_entry, columns, numbers))
        self._limits.append((lower.astype(float), upper.astype(float)))
        added = self.rows + np.arange(len(lower))
        self.rows += len(lower)
        return added

    def solve(self, *, integers: int = 0, interior: bool = False) -> Doubles:
        """Return the columns of the solution with the highest value.

        integers: how many of the first are integral. interior: any optimal solution will do, not only a basic one;
        an interior point method is many times faster where rows are dense.
        """
        with import_extra("match", "an assignment"):
            import highspy
        rows, columns, numbers = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.argsort(columns, kind="stable")
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self.columns, self.rows
        program.col_cost_ = -self.values
        program.col_lower_, program.col_upper_ = map(np.concatenate, zip(*self._bounds, strict=True))
        program.row_lower_, program.row_upper_ = map(np.concatenate, zip(*self._limits, strict=True))
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = np.cumsum([0, *np.bincount(columns, minlength=self.columns)])
        program.a_matrix_.start_ = starts.astype(np.int32)
        program.a_matrix_.index_ = rows[order].astype(np.int32)
        program.a_matrix_.value_ = numbers[order]
        if integers:
            kind = highspy.HighsVarType
            program.integrality_ = [kind.kInteger] * integers + [kind.kContinuous] * (self.columns - integers)
        solver = _create_solver(highspy)
        solver.setOptionValue("random_seed", 0)
        solver.setOptionValue("mip_rel_gap", GAP)
        if interior:
            solver.setOptionValue("solver", "ipm")
            solver.setOptionValue("run_crossover", "off")
        solver.passModel(program)
        solver.solve()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RunFailedError(f"HiGHS found no assignment: {solver.modelStatusToString(status)}")
        return np.array(solver.getSolution().col_value)


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

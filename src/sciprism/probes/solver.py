"""Solve linear probes, all classes, values of C and folds at once.

The objective is liblinear's, |w|^2 / 2 + C sum_i loss_i (Fan et al., LIBLINEAR, JMLR 9, 2008). An intercept
is the weight of an additional feature that is 1 everywhere, and counts in |w|^2, as in liblinear.

The three losses of a linear probe in one form.

liblinear minimizes |w|^2 / 2 + C * sum_i loss(slack_i), where the slack of row i is 1 - y (w.x), y = +-1, for
the hinges and t - w.x for a real target t. Each loss is the maximum of a one-dimensional problem:

    loss(u) = max over low <= b <= high of  b u - (width / 2) (b - centre)^2

The squared hinge is that with 0 <= b, width 1, centre 0, and the weight 2 C. The hinge (0 <= b <= 1) and the
absolute loss (-1 <= b <= 1) have width 0, so they have a corner; a width above 0 rounds it. With the centre
at the b of an optimum, the rounded problem has the same optimum as the one with the corner, at any width
(the method of multipliers: Rockafellar, Augmented Lagrangians and applications of the proximal point
algorithm, 1976). So one solver of rounded losses, which moves centres, solves all three.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Integers
from sciprism.parallel import map_threads
from sciprism.probes.features import PrincipalBasis, SharedRows, add_constant_column

MAX_ITERATIONS = 2000
PATIENCE = 150  # iterations without a gap smaller by a tenth after which a problem ends: its precision is exhausted
GAP_SHARE = 0.75  # share of the tolerance that the gap itself may use; the rest is for rounding
NARROWING = 0.75  # factor of a corner's width when its centre moves
SLOPE_SHARE = 0.5  # a step is long enough when its slope is this share of the slope at the start
TINY = 1e-300
MAX_TRIALS = 40  # step lengths per line search: each at least halves the bounds; most searches need one or two
MIN_FINISHED_SHARE = 1 / 16  # finished problems are removed once they are this share of all: removal copies the others
HISTORY = 10  # pairs of steps and gradient changes that are stored; 30 needed as many iterations as 10


LossName = Literal["squared_hinge", "hinge", "epsilon_insensitive"]


@dataclass(frozen=True, slots=True)
class ProbeLoss:
    """One loss: the bounds of b, the weight of the sum in units of C, and whether it has a corner."""

    low: float
    high: float
    weight: float
    cornered: bool
    margins: bool
    """Whether slacks are 1 - y (w.x), with y = 0 for an ignored row, or t - w.x."""

    def duals(self, slack: Tensor, width: Tensor, centre: Tensor | None) -> Tensor:
        """Return the maximizing b of each slack (p, n); width (p,), centre (p, n)."""
        if centre is None:
            return slack.clamp(self.low, self.high)
        return torch.addcmul(centre, slack, (1 / width)[:, None]).clamp_(self.low, self.high)

    def is_curved(self, duals: Tensor) -> Tensor:
        """Mark where b is strictly between its bounds: there the loss is curved."""
        return duals > self.low if self.high == torch.inf else (duals > self.low) & (duals < self.high)

    def value(self, slack: Tensor) -> Tensor:
        """Return the unweighted loss of each slack, with its corner."""
        if not self.margins:
            return slack.abs()
        above = slack.clamp_min(0)
        return above if self.cornered else above.square_().mul_(0.5)


LOSSES: dict[LossName, ProbeLoss] = {
    "squared_hinge": ProbeLoss(0.0, torch.inf, 2.0, cornered=False, margins=True),
    "hinge": ProbeLoss(0.0, 1.0, 1.0, cornered=True, margins=True),
    "epsilon_insensitive": ProbeLoss(-1.0, 1.0, 1.0, cornered=True, margins=False),
}


class SlackBlock:
    """Rows (n, r), the numbers of the problems that train on them (p,), and arrays (p, n) of these problems.

    targets (p, n): of its members. weights (all problems, r): the start. signs: y, 0 where a problem ignores a
    row (None: all 1). slack: of the current weights. centre: see the losses (None: 0). step: the decrease of the
    slack per unit of the current direction. Blocks are small, so that the result of a product is still in a
    core's cache for the next steps.
    """

    def __init__(self, loss: ProbeLoss, rows: SharedRows, members: Tensor, targets: Tensor, weights: Tensor) -> None:
        self.loss, self.rows, self.members = loss, rows, members
        self.signs = targets if loss.margins else None
        self.slack = targets.abs() if loss.margins else targets.clone()
        scores = rows.scores(weights[members])
        self.slack -= scores * targets if loss.margins else scores
        self.centre = torch.zeros_like(self.slack) if loss.cornered else None
        self.step = self.slack[:0]

    def set_direction(self, directions: Tensor) -> None:
        """Set the direction of each problem (all problems, r)."""
        self.step = self.rows.scores(directions[self.members])
        if self.signs is not None:
            self.step *= self.signs

    def slope(self, lengths: Tensor, widths: Tensor, chosen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Differentiate the sum of losses along the direction, for steps of these lengths (all problems,).

        Returns the problems (p,), the decrease sum b step, and the curvature sum step^2 over curved rows.
        chosen: a mask (all problems,).
        """
        members, slack, centre, step = self._select(chosen)
        there = torch.addcmul(slack, lengths[members].to(slack.dtype)[:, None], step, value=-1)
        duals = self.loss.duals(there, widths[members], centre)
        fall = torch.linalg.vecdot(duals, step)
        curvature = torch.where(self.loss.is_curved(duals), step, 0).square_().sum(1)
        return members, fall.double(), curvature.double()

    def advance(self, lengths: Tensor) -> None:
        """Move by these lengths (all problems,) along the direction."""
        self.slack.addcmul_(lengths[self.members].to(self.slack.dtype)[:, None], self.step, value=-1)

    def sums(self, widths: Tensor, chosen: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Sum the terms of objective, gap and gradient over the rows; chosen: a mask (all problems,).

        Returns the problems (p,), and of each, in double precision: the loss, with its corner; loss - slack * b,
        the rows' part of the duality gap; the number of rows where the loss is curved; sum of y b x, (p, r).
        """
        members, slack, centre, _ = self._select(chosen)
        duals = self.loss.duals(slack, widths[members], centre)
        value = self.loss.value(slack)
        slack_gap = torch.zeros(len(members), dtype=torch.double)
        if self.loss.cornered:
            slack_gap = torch.addcmul(value, slack, duals, value=-1).sum(1).double()
        curved_rows = self.loss.is_curved(duals).sum(1).double()
        if self.signs is not None:
            duals *= self.signs if chosen is None else self.signs[chosen[self.members]]
        return members, value.sum(1).double(), slack_gap, curved_rows, self.rows.combine(duals)

    def recentre(self, widths: Tensor, chosen: Tensor) -> None:
        """Set the centres of the chosen problems, a mask (all problems,), to their current b."""
        members, slack, centre, _ = self._select(chosen)
        if self.centre is not None:
            self.centre[chosen[self.members]] = self.loss.duals(slack, widths[members], centre)

    def keep(self, remaining: Tensor) -> None:
        """Drop the problems that are False in a mask (all problems,), and renumber the others."""
        selected = remaining[self.members]
        self.members = (torch.cumsum(remaining, 0) - 1)[self.members[selected]]
        self.slack, self.step = self.slack[selected], self.step[:0]
        self.signs = None if self.signs is None else self.signs[selected]
        self.centre = None if self.centre is None else self.centre[selected]

    def _select(self, chosen: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        if chosen is None:
            return self.members, self.slack, self.centre, self.step
        selected = chosen[self.members]
        centre = None if self.centre is None else self.centre[selected]
        step = self.step[selected] if len(self.step) else self.step
        return self.members[selected], self.slack[selected], centre, step


class LbfgsHistory:
    """The last steps of each problem and the changes of its gradient over them."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=HISTORY)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Add a step and the change of the gradient, both (p, r)."""
        product = torch.linalg.vecdot(step, change)
        inverse = torch.where(product > 0, 1 / product, 0)  # 0: the pair is ignored
        self._pairs.append((step, change, inverse.nan_to_num(0, 0, 0)))

    def keep(self, remaining: Tensor) -> None:
        """Drop the problems that are False in a mask (p,)."""
        self._pairs = deque(
            ((step[remaining], change[remaining], inverse[remaining]) for step, change, inverse in self._pairs),
            maxlen=HISTORY,
        )

    def direction(self, gradient: Tensor, scale: Tensor) -> Tensor:
        """Return -H gradient (p, r); scale (p, r) is the diagonal of H before any step is stored."""
        rest = gradient.clone()
        shares: list[Tensor] = []
        for step, change, inverse in reversed(self._pairs):
            shares.append(inverse * torch.linalg.vecdot(step, rest))
            rest.addcmul_(shares[-1][:, None], change, value=-1)
        rest *= scale
        for (step, change, inverse), share in zip(self._pairs, reversed(shares), strict=True):
            rest.addcmul_((share - inverse * torch.linalg.vecdot(change, rest))[:, None], step)
        return rest.neg_()


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights (p, r), and the relative duality gap of each problem (p,)."""

    weights: Tensor
    gaps: Tensor


class Descent:
    """The state of one batch of problems with one loss; its tensors have one row per problem.

    weights (p, r): the start; the blocks' slacks must belong to them. costs (p,): C.
    spectrum: eigenvalues of the sum of x x^T over all rows, (r,); features must be in the
    eigenvectors' coordinates. rows: number of rows of the spectrum. `widths` (p,): of the rounded corners.
    """

    def __init__(
        self, loss: ProbeLoss, blocks: list[SlackBlock], weights: Tensor, *, costs: Tensor, spectrum: Tensor, rows: int
    ) -> None:
        self.loss, self.blocks, self.weights, self.costs = loss, blocks, weights, costs * loss.weight
        self.curvatures, self.rows, self.widths = spectrum / max(1, rows), rows, self._initial_widths()
        count = len(weights)
        self.original_ids = torch.arange(count)
        self.history = LbfgsHistory()
        self.dual_weights = torch.zeros_like(weights)
        zeros = torch.zeros(count, dtype=torch.double)
        self.loss_sums, self.slack_gaps, self.curved_rows = zeros, zeros.clone(), zeros.clone()
        self.best_primal = torch.full((count,), torch.inf, dtype=torch.double)
        self.best_dual = torch.full((count,), -torch.inf, dtype=torch.double)
        self.best = weights.clone()
        self.reference_gaps = torch.full((count,), torch.inf, dtype=torch.double)
        self.last_progress = torch.zeros(count, dtype=torch.long)

    def _initial_widths(self) -> Tensor:
        """Return the first widths: at w = 0 most rows are on the curve, so that the first directions are in scale."""
        count, dtype = len(self.weights), self.weights.dtype
        if self.loss.margins:
            return torch.full((count,), 2.0 if self.loss.cornered else 1.0, dtype=dtype)
        sums, rows = torch.zeros(count, dtype=dtype), torch.zeros(count, dtype=dtype)
        for block in self.blocks:
            sums.index_add_(0, block.members, block.slack.abs().sum(1))
            rows[block.members] += block.slack.shape[1]
        return torch.where(sums > 0, 2 * sums / rows, 1)

    def solve(self, tolerance: float) -> Solution:
        """Descend until every relative gap is below tolerance or no longer improves."""
        count = len(self.weights)
        solution = Solution(torch.zeros_like(self.weights), torch.full((count,), torch.inf, dtype=torch.double))
        self._update_sums()
        for iteration in range(MAX_ITERATIONS):
            gaps = self._update_gaps(iteration)
            finished = (gaps <= GAP_SHARE * tolerance) | (iteration - self.last_progress > PATIENCE)
            if iteration == MAX_ITERATIONS - 1:
                finished[:] = True
            if finished.any() and int(finished.sum()) >= MIN_FINISHED_SHARE * len(finished):
                self._remove_finished(finished, gaps, solution)
                if finished.all():
                    break
            if self.loss.cornered:
                self._recentre()
            self._step()
        return solution

    def _update_gaps(self, iteration: int) -> Tensor:
        """Update the best weights and bounds, and return each problem's relative gap."""
        square, apart = norms(self.weights), norms(self.weights - self.dual_weights)
        primal = square / 2 + self.costs * self.loss_sums
        dual = primal - apart / 2 - self.costs * self.slack_gaps
        better = primal < self.best_primal
        self.best[better] = self.weights[better]
        self.best_primal = torch.minimum(self.best_primal, primal)
        self.best_dual = torch.maximum(self.best_dual, dual)
        gaps = self.best_primal - self.best_dual
        progress = gaps < 0.9 * self.reference_gaps
        self.reference_gaps[progress], self.last_progress[progress] = gaps[progress], iteration
        return torch.where(gaps > 0, gaps / self.best_primal.clamp_min(TINY), 0)

    def _remove_finished(self, finished: Tensor, gaps: Tensor, solution: Solution) -> None:
        """Store the solutions of the finished problems and drop these."""
        original_ids, remaining = self.original_ids[finished], ~finished
        solution.weights[original_ids] = self.best[finished]
        solution.gaps[original_ids] = gaps[finished] + self._rounding(finished)
        for block in self.blocks:
            block.keep(remaining)
        self.history.keep(remaining)
        for name, value in list(vars(self).items()):
            if isinstance(value, Tensor) and name != "curvatures":
                setattr(self, name, value[remaining])

    def _rounding(self, chosen: Tensor) -> Tensor:
        """Estimate what rounding may add to the relative gap of the chosen problems (p,).

        A score is a sum of products of about |x| |w| in total; its error is that times the precision. Such
        errors nearly cancel over the rows, but at a corner each one adds loss. This matters where most loss
        has vanished.
        """
        weight = (2 * self.loss_sums).sqrt()
        if self.loss.cornered:
            weight = self.curved_rows + self.rows**0.5
        lengths = (self.curvatures.sum(-1) * norms(self.best)).sqrt()
        errors = 2 * torch.finfo(self.best.dtype).eps * self.costs * weight * lengths
        return (errors / self.best_primal.clamp_min(TINY))[chosen]

    def _recentre(self) -> None:
        """Move the centres of problems whose gap comes from the rounded corners, and narrow the corners."""
        moved = norms(self.weights - self.dual_weights) / 2 <= self.costs * self.slack_gaps
        if not moved.any():
            return
        for block in self.blocks:
            block.recentre(self.widths, moved)
        self.widths = torch.where(moved, self.widths * NARROWING, self.widths)
        self._update_sums(moved)

    def _step(self) -> None:
        """Take one step of the length that the line search finds, and update the gradients."""
        gradient = self.weights - self.dual_weights
        share = (self.costs * self.curved_rows).to(gradient.dtype) / self.widths
        direction = self.history.direction(gradient, 1 / (1 + share[:, None] * self.curvatures))
        lengths = self._line_search(gradient, direction).to(gradient.dtype)
        step = lengths[:, None] * direction
        self.weights = self.weights + step
        for block in self.blocks:
            block.advance(lengths)
        self._update_sums()
        self.history.add(step, self.weights - self.dual_weights - gradient)

    def _line_search(self, gradient: Tensor, direction: Tensor) -> Tensor:
        """Return step lengths (p,): Newton's method between bounds, on a slope that rises block by block."""
        for block in self.blocks:
            block.set_direction(direction)
        start, along = dots(gradient, direction), dots(self.weights, direction)
        square = norms(direction)
        lengths = torch.ones(len(start), dtype=torch.double)
        low, high = torch.zeros_like(lengths), torch.full_like(lengths, torch.inf)
        chosen, open_ = None, torch.ones_like(lengths, dtype=torch.bool)
        for _ in range(MAX_TRIALS):
            falls, bends = torch.zeros_like(lengths), torch.zeros_like(lengths)
            for block in self.blocks:
                members, fall, bend = block.slope(lengths, self.widths, chosen)
                falls.index_add_(0, members, fall)
                bends.index_add_(0, members, bend)
            slope = along + lengths * square - self.costs * falls
            chosen = open_ = open_ & (slope.abs() > SLOPE_SHARE * start.abs())
            if not open_.any():
                break
            low = torch.where(open_ & (slope < 0), lengths, low)
            high = torch.where(open_ & (slope >= 0), lengths, high)
            newton = lengths - slope / (square + self.costs / self.widths * bends)
            middle = torch.where(high.isinf(), 2 * lengths, (low + high) / 2)
            lengths = torch.where(open_, torch.where((newton > low) & (newton < high), newton, middle), lengths)
        return lengths

    def _update_sums(self, chosen: Tensor | None = None) -> None:
        """Update the sums and gradients of all problems, or of the chosen ones."""
        stale = torch.ones(len(self.weights), dtype=torch.bool) if chosen is None else chosen
        sums = (self.loss_sums, self.slack_gaps, self.curved_rows, self.dual_weights)
        for total in sums:
            total[stale] = 0
        for block in self.blocks:
            members, *block_sums = block.sums(self.widths, chosen)
            for total, of_block in zip(sums, block_sums, strict=True):
                total.index_add_(0, members, of_block)
        self.dual_weights[stale] *= self.costs[stale, None].to(self.dual_weights.dtype)


def dots(left: Tensor, right: Tensor) -> Tensor:
    """Return the dot products of the rows of two matrices (p, r) -> (p,), in double precision."""
    products: Tensor = torch.linalg.vecdot(left, right)
    return products.double()


def norms(rows: Tensor) -> Tensor:
    """Return the squared norm of each row (p, r) -> (p,), in double precision."""
    return dots(rows, rows)


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted vectors (..., d), intercepts (...), 0 without one, and relative duality gaps (...).

    A gap is an upper bound of (objective - minimum) / objective. All are in double precision: where almost no
    loss is left, rounding errors of single precision matter.
    """

    vectors: Doubles
    intercepts: Doubles
    gaps: Doubles

    def shaped(self, *shape: int) -> Weights:
        """Return the same weights with the problems in another shape."""
        return Weights(self.vectors.reshape(*shape, -1), self.intercepts.reshape(shape), self.gaps.reshape(shape))


TOLERANCE = 1e-4  # relative duality gap at which a problem counts as solved
MAX_SLACKS = 1 << 27  # slacks that all cores together may hold: four arrays of 0.5 GiB in single precision
BLOCK_SLACKS = 1 << 18  # slacks that a block should hold: 1 MiB
MIN_CORE_SLACKS = 1 << 15  # slacks below which another core is not worth its cost
MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 4096, 512
"""Rows of a block: fewer would slow down the products."""


@dataclass(frozen=True, slots=True)
class Problems:
    """p problems on the same features.

    targets (k, n): +-1, or 0 for an ignored row; or real numbers. target_rows (p,): each problem's row of
    targets. costs (p,): C. held_out (p,): the part (fold) that is held out, -1 for none.
    """

    targets: Tensor
    target_rows: Tensor
    costs: Tensor
    held_out: Tensor

    def select(self, chosen: Tensor) -> Problems:
        """Return the chosen problems."""
        return Problems(self.targets, self.target_rows[chosen], self.costs[chosen], self.held_out[chosen])

    def __len__(self) -> int:
        return len(self.target_rows)


class Solver:
    """Solves problems on one matrix of features (n, d), in single precision, or double where that fails.

    parts: row numbers (folds), together all rows; a problem may hold out one part at no cost. problems: their
    approximate number per call.
    """

    def __init__(self, features: Floats, parts: Sequence[Integers] = (), *, intercept: bool, problems: int = 1) -> None:
        self._features = add_constant_column(features, intercept)
        self._parts = [torch.from_numpy(p) for p in parts] or [torch.arange(len(features))]
        self._intercept = intercept
        self._size = max(MIN_BLOCK_ROWS, min(MAX_BLOCK_ROWS, BLOCK_SLACKS // max(1, problems)))
        self._basis = PrincipalBasis.build(self._features, self._parts, self._size)

    def solve(self, problems: Problems, loss: ProbeLoss, tolerance: float, start: Weights | None = None) -> Weights:
        """Solve all problems; start: weights of as many similar problems."""
        whole = torch.zeros(len(problems), self._features.shape[1], dtype=torch.double)
        if start is not None:
            shifts = [start.intercepts[:, None]] if self._intercept else []
            whole = torch.from_numpy(np.concatenate([start.vectors, *shifts], axis=1))
        gaps = torch.zeros(len(problems), dtype=torch.double)

        def run(basis: PrincipalBasis, chosen: Tensor) -> None:
            axes = basis.axes.double()

            def solve_part(part: Tensor) -> tuple[Tensor, Tensor]:
                first = (whole[part] @ axes).to(basis.axes.dtype)
                own, blocks = problems.select(part), []
                for block in basis.blocks:
                    members = torch.nonzero(own.held_out != block.part)[:, 0]
                    targets = own.targets[:, block.numbers].to(first.dtype)[own.target_rows[members]]
                    blocks.append(SlackBlock(loss, block.rows, members, targets, first))
                descent = Descent(loss, blocks, first, costs=own.costs, spectrum=basis.spectrum, rows=basis.rows)
                solution = descent.solve(tolerance)
                return solution.weights.double() @ axes.T, solution.gaps

            # every core solves its own problems from start to end: cores that shared each product would wait for each
            # other thousands of times, for minutes if another program keeps one of them busy
            slacks, cores = len(chosen) * basis.rows, torch.get_num_threads()
            count = max(-(-slacks // (MAX_SLACKS // cores)), min(cores, slacks // MIN_CORE_SLACKS), 1)
            parts = [chosen[first::count] for first in range(min(count, len(chosen)))]
            for part, (weights, part_gaps) in zip(parts, map_threads(solve_part, parts), strict=True):
                whole[part], gaps[part] = weights, part_gaps

        run(self._basis, torch.arange(len(problems)))
        unsolved = torch.nonzero(gaps > tolerance)[:, 0]
        if len(unsolved):
            run(PrincipalBasis.build(self._features.double(), self._parts, self._size), unsolved)
        rows = whole.numpy()
        vectors, last = (rows[:, :-1], rows[:, -1]) if self._intercept else (rows, np.zeros(len(rows)))
        return Weights(np.ascontiguousarray(vectors), last.copy(), gaps.numpy())

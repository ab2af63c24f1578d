"""Solve many probe problems at once, each until its duality gap says that it is done.

Every iteration costs two matrix products for all problems together: the scores of the new directions, and
the gradients. The line search moves along known scores, so it multiplies nothing.

The gap. For any b within its bounds, v = weight * C * sum_i y_i b_i x_i is feasible for the dual problem, and

    primal(w) - dual(b) = |w - v|^2 / 2 + weight * C * sum_i (loss(slack_i) - slack_i b_i)

(the second sum is 0 for the squared hinge). It bounds how far w is from the optimum, costs nothing beyond
the gradient w - v, and is a sum of positive terms, so it can be had in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.probes.directions import Memory
from sciprism.probes.losses import Loss
from sciprism.probes.pieces import Piece

ITERATIONS = 2000
PATIENCE = 150
"""Iterations without a gap a tenth better after which the precision is used up."""
AIM = 0.75
"""The part of the tolerance that the gap itself may take; the rest is for rounding."""
NARROWING = 0.75
"""What the width of a corner is multiplied with when its centre moves."""
LEVEL = 0.5
"""A step is long enough when the slope there is this part of the slope at its start."""
TINY = 1e-300
TRIALS = 40
"""Lengths tried in one line search: each halves the bounds at least; nearly all end after one or two."""
CROWD = 16
"""Finished problems leave when they are one in so many: leaving costs a copy of what stays."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights (p, r), the relative duality gap of each problem (p,), and its iterations (p,)."""

    weights: Tensor
    gaps: Tensor
    iterations: Tensor


class Descent:
    """The state of one batch of problems of one loss.

    weights (p, r): where to start; the pieces' slacks must belong to them. costs (p,): weight * C.
    spectrum: eigenvalues of the sum of x x^T over all rows, (r,) or (p, r); features must be in the
    eigenvectors' coordinates. rows: how many rows the spectrum counts. widths (p,): of the rounded corners.
    """

    def __init__(
        self,
        loss: Loss,
        pieces: list[Piece],
        weights: Tensor,
        *,
        costs: Tensor,
        spectrum: Tensor,
        rows: int,
        widths: Tensor,
    ) -> None:
        self.loss, self.pieces, self.weights, self.costs = loss, pieces, weights, costs
        self.curvatures, self.widths, self.rows = spectrum / max(1, rows), widths, rows
        count = len(weights)
        self.numbers = torch.arange(count)
        self.memory = Memory()
        self.pull = torch.zeros_like(weights)
        self.loss_sums, self.misses, self.inside = (torch.zeros(count, dtype=torch.double) for _ in range(3))
        self.least = torch.full((count,), torch.inf, dtype=torch.double)
        self.bound = torch.full((count,), -torch.inf, dtype=torch.double)
        self.best = weights.clone()
        self.mark = torch.full((count,), torch.inf, dtype=torch.double)
        self.marked = torch.zeros(count, dtype=torch.long)

    def solve(self, tolerance: float) -> Solution:
        """Descend until every relative gap is below tolerance or does not improve any more."""
        count, width = self.weights.shape
        solution = Solution(
            torch.zeros(count, width, dtype=self.weights.dtype),
            torch.full((count,), torch.inf, dtype=torch.double),
            torch.zeros(count, dtype=torch.long),
        )
        self._gather()
        for iteration in range(ITERATIONS):
            gaps = self._judge(iteration)
            over = (gaps <= AIM * tolerance) | (iteration - self.marked > PATIENCE)
            if iteration == ITERATIONS - 1:
                over[:] = True
            if int(over.sum()) * CROWD >= len(over) and over.any():
                self._leave(over, gaps, iteration, solution)
                if over.all():
                    break
            self._recentre()
            self._step()
        return solution

    def _judge(self, iteration: int) -> Tensor:
        """Update the best weights and bounds, and return each problem's relative gap."""
        square, apart = norms(self.weights), norms(self.weights - self.pull)
        primal = square / 2 + self.costs * self.loss_sums
        dual = primal - apart / 2 - self.costs * self.misses
        better = primal < self.least
        self.best[better] = self.weights[better]
        self.least, self.bound = torch.minimum(self.least, primal), torch.maximum(self.bound, dual)
        gaps = self.least - self.bound
        progress = gaps < 0.9 * self.mark
        self.mark[progress], self.marked[progress] = gaps[progress], iteration
        return torch.where(gaps > 0, gaps / self.least.clamp_min(TINY), 0)

    def _leave(self, over: Tensor, gaps: Tensor, iteration: int, solution: Solution) -> None:
        """Write down the problems that are over and drop them."""
        numbers, kept = self.numbers[over], ~over
        solution.weights[numbers] = self.best[over]
        solution.gaps[numbers] = gaps[over] + self._rounding(over)
        solution.iterations[numbers] = iteration
        for piece in self.pieces:
            piece.keep(kept)
        self.memory.keep(kept)
        for name in (
            "numbers",
            "weights",
            "best",
            "costs",
            "widths",
            "pull",
            "loss_sums",
            "misses",
            "inside",
            "least",
            "bound",
            "mark",
            "marked",
        ):
            setattr(self, name, getattr(self, name)[kept])
        if self.curvatures.ndim == 2:
            self.curvatures = self.curvatures[kept]

    def _rounding(self, chosen: Tensor) -> Tensor:
        """Estimate what rounding may add to the relative gap of the chosen problems (p,).

        A score is a sum of products of about |x| |w| in all, and off by that times the precision. Such errors
        go both ways and nearly cancel over the rows, but at a corner every one adds loss. This matters where
        most loss has vanished.
        """
        weight = (2 * self.loss_sums).sqrt()
        if self.loss.cornered:
            weight = self.inside + self.rows**0.5
        lengths = (self.curvatures.sum(-1) * norms(self.best)).sqrt()
        errors = 2 * torch.finfo(self.best.dtype).eps * self.costs * weight * lengths
        return (errors / self.least.clamp_min(TINY))[chosen]

    def _recentre(self) -> None:
        """Move the centres of problems whose gap comes from the rounded corners, and narrow these."""
        if not self.loss.cornered:
            return
        moved = norms(self.weights - self.pull) / 2 <= self.costs * self.misses
        if not moved.any():
            return
        for piece in self.pieces:
            piece.recentre(self.widths, moved)
        self.widths = torch.where(moved, self.widths * NARROWING, self.widths)
        self._gather(moved)

    def _step(self) -> None:
        """Go one step down, as far as the line search says, and gather the new gradients."""
        gradient = self.weights - self.pull
        share = (self.costs * self.inside).to(gradient.dtype) / self.widths
        direction = self.memory.direction(gradient, 1 / (1 + share[:, None] * self.curvatures))
        lengths = self._search(gradient, direction).to(gradient.dtype)
        step = lengths[:, None] * direction
        self.weights = self.weights + step
        for piece in self.pieces:
            piece.advance(lengths)
        self._gather()
        self.memory.add(step, self.weights - self.pull - gradient)

    def _search(self, gradient: Tensor, direction: Tensor) -> Tensor:
        """Find how far to go (p,): Newton's method between bounds on a slope that rises piece by piece."""

        for piece in self.pieces:
            piece.set_out(direction)
        start, along = dots(gradient, direction), dots(self.weights, direction)
        square = norms(direction)
        lengths = torch.ones(len(start), dtype=torch.double)
        low, high = torch.zeros_like(lengths), torch.full_like(lengths, torch.inf)
        open_, first = torch.ones_like(lengths, dtype=torch.bool), True
        for _ in range(TRIALS):
            falls, bends = torch.zeros_like(lengths), torch.zeros_like(lengths)
            for piece in self.pieces:
                members, fall, bend = piece.slope(lengths, self.widths, None if first else open_)
                falls.index_add_(0, members, fall)
                bends.index_add_(0, members, bend)
            first = False
            slope = along + lengths * square - self.costs * falls
            open_ = open_ & (slope.abs() > LEVEL * start.abs())
            if not open_.any():
                break
            low = torch.where(open_ & (slope < 0), lengths, low)
            high = torch.where(open_ & (slope >= 0), lengths, high)
            newton = lengths - slope / (square + self.costs / self.widths * bends)
            middle = torch.where(high.isinf(), 2 * lengths, (low + high) / 2)
            lengths = torch.where(
                open_, torch.where((newton > low) & (newton < high), newton, middle), lengths
            )
        return lengths

    def _gather(self, chosen: Tensor | None = None) -> None:
        """Bring sums and gradients up to date, of all problems or of those chosen."""
        everyone = torch.ones(len(self.weights), dtype=torch.bool) if chosen is None else chosen
        self.pull[everyone] = 0
        self.loss_sums[everyone], self.misses[everyone], self.inside[everyone] = 0, 0, 0
        for sums in (piece.sums(self.widths, chosen) for piece in self.pieces):
            self.pull.index_add_(0, sums.members, sums.pull)
            self.loss_sums.index_add_(0, sums.members, sums.loss)
            self.misses.index_add_(0, sums.members, sums.miss)
            self.inside.index_add_(0, sums.members, sums.inside)
        self.pull[everyone] *= self.costs[everyone, None].to(self.pull.dtype)


def dots(left: Tensor, right: Tensor) -> Tensor:
    """Multiply the rows of two matrices (p, r) pair by pair -> (p,), in double precision."""
    products: Tensor = torch.linalg.vecdot(left, right)
    return products.double()


def norms(rows: Tensor) -> Tensor:
    """Return the squared length of each row (p, r) -> (p,), in double precision."""
    return dots(rows, rows)

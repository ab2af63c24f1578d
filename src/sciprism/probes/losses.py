"""The three losses of a linear probe in one form.

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

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sciprism.probes.features import FeatureRows

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

    def __init__(self, loss: ProbeLoss, rows: FeatureRows, members: Tensor, targets: Tensor, weights: Tensor) -> None:
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
        selected = None if chosen is None else torch.nonzero(chosen[self.members])[:, 0]
        duals = self.loss.duals(slack, widths[members], centre)
        value = self.loss.value(slack)
        slack_gap = torch.zeros(len(members), dtype=torch.double)
        if self.loss.cornered:
            slack_gap = torch.addcmul(value, slack, duals, value=-1).sum(1).double()
        curved_rows = self.loss.is_curved(duals).sum(1).double()
        if self.signs is not None:
            duals *= self.signs if selected is None else self.signs[selected]
        return members, value.sum(1).double(), slack_gap, curved_rows, self.rows.combine(duals, selected)

    def recentre(self, widths: Tensor, chosen: Tensor) -> None:
        """Set the centres of the chosen problems, a mask (all problems,), to their current b."""
        members, slack, centre, _ = self._select(chosen)
        if self.centre is not None:
            self.centre[chosen[self.members]] = self.loss.duals(slack, widths[members], centre)

    def keep(self, remaining: Tensor) -> None:
        """Drop the problems that are False in a mask (all problems,), and renumber the others."""
        selected = remaining[self.members]
        self.members = (torch.cumsum(remaining, 0) - 1)[self.members[selected]]
        self.rows = self.rows.keep(selected)
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

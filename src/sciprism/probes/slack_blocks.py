"""Blocks of rows with the slacks of all problems that train on them.

Blocks are small, so that the result of a product is still in a core's cache for the next steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.probes.feature_rows import FeatureRows
from sciprism.probes.losses import ProbeLoss


@dataclass(frozen=True, slots=True)
class SlackSums:
    """A block's sums for each of its problems: (p,) in double precision, and dual_weights (p, r).

    loss: with its corner. slack_gap: loss - slack * b, the rows' part of the duality gap.
    curved_rows: number of rows where the loss is curved. dual_weights: sum of y b x.
    """

    members: Tensor
    loss: Tensor
    slack_gap: Tensor
    curved_rows: Tensor
    dual_weights: Tensor


@dataclass(slots=True)
class SlackBlock:
    """Rows (n, r), the numbers of the problems that train on them (p,), and arrays (p, n) of these problems.

    signs: y, 0 where a problem ignores a row (None: all 1). slack: of the current weights. centre: see
    losses (None: 0). step: the decrease of the slack per unit of the current direction.
    """

    loss: ProbeLoss
    rows: FeatureRows
    members: Tensor
    signs: Tensor | None
    slack: Tensor
    centre: Tensor | None
    step: Tensor

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

    def sums(self, widths: Tensor, chosen: Tensor | None = None) -> SlackSums:
        """Sum the terms of objective, gap and gradient over the rows; chosen: a mask (all problems,)."""
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
        return SlackSums(members, value.sum(1).double(), slack_gap, curved_rows, self.rows.combine(duals, selected))

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

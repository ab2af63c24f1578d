"""A piece: one block of rows with the slacks of all problems that train on them.

Blocks are small, so that what one product leaves in a core's cache is there for the next steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.probes.losses import Loss
from sciprism.probes.rows import Rows


@dataclass(frozen=True, slots=True)
class Sums:
    """What a piece adds to each of its problems: (p,) in double precision, and pull (p, r).

    loss: with its corner. miss: loss - slack * b, the part of the duality gap that the rows cause.
    inside: rows where the loss is curved. pull: sum of y b x.
    """

    members: Tensor
    loss: Tensor
    miss: Tensor
    inside: Tensor
    pull: Tensor


@dataclass(slots=True)
class Piece:
    """Rows (n, r), the numbers of the problems that train on them (p,), and arrays (p, n) of these problems.

    signs: y, 0 where a problem leaves a row out (None: all 1). slack: of the present weights. centre: see
    losses (None: 0). step: how fast the slack falls along the present direction.
    """

    loss: Loss
    rows: Rows
    members: Tensor
    signs: Tensor | None
    slack: Tensor
    centre: Tensor | None
    step: Tensor

    def set_out(self, directions: Tensor) -> None:
        """Turn to new directions (all problems, r)."""
        self.step = self.rows.scores(directions[self.members])
        if self.signs is not None:
            self.step *= self.signs

    def slope(self, lengths: Tensor, widths: Tensor, chosen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Differentiate the sum of losses along the direction, for steps of these lengths (all problems,).

        Returns the problems (p,), the fall sum b step, and the curvature sum step^2 over the rows inside.
        chosen: a mask (all problems,) of those looked at.
        """
        members, slack, centre, step = self._of(chosen)
        there = torch.addcmul(slack, lengths[members].to(slack.dtype)[:, None], step, value=-1)
        duals = self.loss.duals(there, widths[members], centre)
        fall = torch.linalg.vecdot(duals, step)
        curvature = torch.where(self.loss.inside(duals), step, 0).square_().sum(1)
        return members, fall.double(), curvature.double()

    def advance(self, lengths: Tensor) -> None:
        """Go so far (all problems,) along the direction."""
        self.slack.addcmul_(lengths[self.members].to(self.slack.dtype)[:, None], self.step, value=-1)

    def sums(self, widths: Tensor, chosen: Tensor | None = None) -> Sums:
        """Add up, over the rows, what objective, gap and gradient need; chosen: a mask (all problems,)."""
        members, slack, centre, _ = self._of(chosen)
        mine = None if chosen is None else torch.nonzero(chosen[self.members])[:, 0]
        duals = self.loss.duals(slack, widths[members], centre)
        value = self.loss.value(slack)
        miss = torch.zeros(len(members), dtype=torch.double)
        if self.loss.cornered:
            miss = torch.addcmul(value, slack, duals, value=-1).sum(1).double()
        inside = self.loss.inside(duals).sum(1).double()
        if self.signs is not None:
            duals *= self.signs if mine is None else self.signs[mine]
        return Sums(members, value.sum(1).double(), miss, inside, self.rows.combine(duals, mine))

    def recentre(self, widths: Tensor, chosen: Tensor) -> None:
        """Put the centres of the chosen problems, a mask (all problems,), to their present b."""
        members, slack, centre, _ = self._of(chosen)
        if self.centre is not None:
            self.centre[chosen[self.members]] = self.loss.duals(slack, widths[members], centre)

    def keep(self, kept: Tensor) -> None:
        """Drop the problems that are False in a mask (all problems,), and number the others anew."""
        mine = kept[self.members]
        self.members = (torch.cumsum(kept, 0) - 1)[self.members[mine]]
        self.rows = self.rows.keep(mine)
        self.slack, self.step = self.slack[mine], self.step[:0]
        self.signs = None if self.signs is None else self.signs[mine]
        self.centre = None if self.centre is None else self.centre[mine]

    def _of(self, chosen: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        if chosen is None:
            return self.members, self.slack, self.centre, self.step
        mine = chosen[self.members]
        centre = None if self.centre is None else self.centre[mine]
        step = self.step[mine] if len(self.step) else self.step
        return self.members[mine], self.slack[mine], centre, step

"""The three losses of a linear probe in one form.

liblinear minimises |w|^2 / 2 + C * sum_i loss(slack_i), where the slack of row i is 1 - y (w.x), y = +-1, for
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

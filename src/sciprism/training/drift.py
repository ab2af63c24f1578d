"""When a run has left the road: losses and gradients that no further step will mend."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

WINDOW = 20
"""Losses of one source that are compared with its first ones."""


class DivergedError(Exception):
    """Report a loss or a gradient that is no number, or a loss that has grown beyond mending."""


@dataclass(slots=True)
class Drift:
    """The first and the last losses of each source."""

    first: dict[str, list[float]] = field(default_factory=dict)
    last: dict[str, deque[float]] = field(default_factory=dict)

    def check(self, source: str, loss: float, step: int) -> None:
        """Raise DivergedError when a loss is not finite, or has doubled, and more, for a while."""
        if not math.isfinite(loss):
            raise DivergedError(f"the loss of {source} at step {step} is {loss}")
        first = self.first.setdefault(source, [])
        if len(first) < WINDOW:
            first.append(loss)
        last = self.last.setdefault(source, deque(maxlen=WINDOW))
        last.append(loss)
        if len(last) == WINDOW and sum(last) > 2 * sum(first) + WINDOW:
            means = (sum(last) / WINDOW, sum(first) / WINDOW)
            raise DivergedError(
                f"{WINDOW} losses of {source} up to step {step} average {means[0]:.3g}, "
                f"the first {means[1]:.3g}"
            )

    def check_gradient(self, norm: float, step: int) -> None:
        """Raise DivergedError when the length of the gradient is not finite."""
        if not math.isfinite(norm):
            raise DivergedError(f"the gradient at step {step} is {norm}")

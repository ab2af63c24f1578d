"""Detection of divergence: losses or gradients that are not finite, and losses that grow."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW = 20
"""Losses of one source that are compared with its first ones."""


class DivergedError(Exception):
    """Report a loss or a gradient that is not finite, or a loss that has grown for many steps."""


@dataclass(slots=True)
class DivergenceCheck:
    """The first and the last losses of each source."""

    first: dict[str, list[float]] = field(default_factory=dict)
    last: dict[str, deque[float]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, losses: Mapping[str, Mapping[str, list[float]]]) -> DivergenceCheck:
        """Return the check that `to_json` was called on."""
        last = {name: deque(values, WINDOW) for name, values in losses["last"].items()}
        return cls(dict(losses["first"]), last)

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """Return its losses, for a checkpoint."""
        return {"first": self.first, "last": {name: list(values) for name, values in self.last.items()}}

    def check_loss(self, source: str, loss: float, step: int) -> None:
        """Raise DivergedError for a loss that is not finite, or whose mean of `WINDOW` steps has doubled."""
        if not math.isfinite(loss):
            raise DivergedError(f"the loss of {source} at step {step} is {loss}")
        first = self.first.setdefault(source, [])
        if len(first) < WINDOW:
            first.append(loss)
        last = self.last.setdefault(source, deque(maxlen=WINDOW))
        last.append(loss)
        if len(last) == WINDOW and sum(last) > 2 * sum(first) + WINDOW:
            raise DivergedError(
                f"{WINDOW} losses of {source} up to step {step} average {sum(last) / WINDOW:.3g}, "
                f"the first {sum(first) / WINDOW:.3g}"
            )

    def check_gradient(self, norm: float, step: int) -> None:
        """Raise DivergedError for a norm that is not finite."""
        if not math.isfinite(norm):
            raise DivergedError(f"the gradient at step {step} is {norm}")

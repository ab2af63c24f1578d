"""Directions of descent for many problems at once: limited-memory BFGS (Nocedal, 1980)."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

MEMORY = 10
"""Pairs of steps and changes of the gradient that are kept; 30 took as many iterations as 10."""


class Memory:
    """The last steps of each problem and how its gradient changed over them."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=MEMORY)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Take in a step and the change of the gradient, both (p, r)."""
        product = torch.linalg.vecdot(step, change)
        inverse = torch.where(product > 0, 1 / product, 0)  # 0: the pair says nothing
        self._pairs.append((step, change, inverse.nan_to_num(0, 0, 0)))

    def keep(self, kept: Tensor) -> None:
        """Forget the problems that are False in a mask (p,)."""
        pairs = [(step[kept], change[kept], inverse[kept]) for step, change, inverse in self._pairs]
        self._pairs = deque(pairs, maxlen=MEMORY)

    def direction(self, gradient: Tensor, scale: Tensor) -> Tensor:
        """Return -H gradient (p, r); scale (p, r) is the diagonal of H where nothing is remembered."""
        rest = gradient.clone()
        shares: list[Tensor] = []
        for step, change, inverse in reversed(self._pairs):
            shares.append(inverse * torch.linalg.vecdot(step, rest))
            rest.addcmul_(shares[-1][:, None], change, value=-1)
        rest *= scale
        for (step, change, inverse), share in zip(self._pairs, reversed(shares), strict=True):
            rest.addcmul_((share - inverse * torch.linalg.vecdot(change, rest))[:, None], step)
        return rest.neg_()

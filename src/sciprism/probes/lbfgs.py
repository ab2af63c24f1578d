"""Limited-memory BFGS (Nocedal, 1980): descent directions of many problems at once."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

HISTORY = 10
"""Pairs of steps and gradient changes that are stored; 30 needed as many iterations as 10."""


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

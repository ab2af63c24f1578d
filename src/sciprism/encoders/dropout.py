"""Dropout whose draws a seed decides, so that a pass can be repeated, on any thread, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import Tensor, nn

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


@contextmanager
def drawn_from(seed: int, device: torch.device) -> Iterator[None]:
    """Let every dropout of this thread draw from one generator, seeded here."""
    token = _generator.set(torch.Generator(device).manual_seed(seed))
    try:
        yield
    finally:
        _generator.reset(token)


def repeatable() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return two contexts: one for a pass that starts here, one in which its dropouts draw the same again."""
    generator = _generator.get()
    if generator is None:
        return nullcontext(), nullcontext()
    return nullcontext(), _going_on(generator.device, generator.get_state())


@contextmanager
def _going_on(device: torch.device, state: Tensor) -> Iterator[None]:
    generator = torch.Generator(device)
    generator.set_state(state)
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


def drop(x: Tensor, rate: float) -> Tensor:
    """Set elements to zero with the probability `rate` and scale the others by 1 / (1 - rate)."""
    if rate == 0.0:
        return x
    kept = torch.empty_like(x).bernoulli_(1 - rate, generator=_generator.get())
    return x * kept / (1 - rate)


class Dropout(nn.Module):
    """`drop` while training, nothing otherwise."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Keep the shape of x."""
        return drop(x, self.rate) if self.training else x

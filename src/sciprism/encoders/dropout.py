"""Seeded dropout: a pass can be repeated with the same bits, on any thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import Tensor, nn

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


def seeded_dropout(seed: int, device: torch.device) -> AbstractContextManager[None]:
    """Make every dropout of this thread sample from one generator, seeded here."""
    return _use_generator(torch.Generator(device).manual_seed(seed))


def replay_dropout() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return two contexts: one for a forward pass, one in which its dropouts sample the same again."""
    generator = _generator.get()
    if generator is None:
        return nullcontext(), nullcontext()
    return nullcontext(), _use_generator(torch.Generator(generator.device).set_state(generator.get_state()))


@contextmanager
def _use_generator(generator: torch.Generator) -> Iterator[None]:
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


def drop(x: Tensor, rate: float) -> Tensor:
    """Set elements to zero with the probability `rate` and scale the others by 1 / (1 - rate)."""
    if rate == 0.0:
        return x
    mask = torch.empty_like(x).bernoulli_(1 - rate, generator=_generator.get())
    return x * mask / (1 - rate)


class Dropout(nn.Module):
    """`drop` in training mode, the identity otherwise."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Return x with elements dropped, in the shape of x."""
        return drop(x, self.rate) if self.training else x

"""How long work says how far it is: every function of it takes a `progress`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Progress(Protocol):
    """Is called often with a piece of work, what is counted ("": nothing), how many are done, and of how many.

    A piece of work begins with the first call that names it. total: None where it is unknown.
    """

    def __call__(self, work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> object:
        """Show the state."""


def show_nothing(work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> None:
    """Show nothing: the default."""


def show_each(
    items: Iterable[Item], progress: Progress, work: str, unit: str, total: int | None = None
) -> Iterator[Item]:
    """Yield items, and show how many."""
    for done, item in enumerate(items, 1):
        yield item
        progress(work, unit, done, total)

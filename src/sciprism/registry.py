"""Registries: named things of one kind, registered where they are defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sciprism.errors import InputError

T = TypeVar("T")


class Registry(dict[str, T]):
    """Map names to one kind of thing; a clash or an unknown name is an error that helps."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds its object under `name`."""

        def add(item: T) -> T:
            if name in self:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self[name] = item
            return item

        return add

    def __missing__(self, name: str) -> NoReturn:
        raise InputError(f"unknown {self.kind} {name!r}; known: {', '.join(sorted(self)) or 'none'}")

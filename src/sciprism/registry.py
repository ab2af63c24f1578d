"""Names of one kind of thing: registries, filled where things are defined, and the names most similar to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from sciprism.errors import InputError

T = TypeVar("T")


class Registry(dict[str, T]):
    """Map names to one kind of thing; a clash or an unknown name is an error that helps.

    The first unknown name imports what installed packages add: modules that are entry points of the group named after
    the kind, such as `sciprism.methods`, `sciprism.objectives` or `sciprism.protocols`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self._extended = kind, False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds its object under `name`."""

        def add(item: T) -> T:
            if name in self:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self[name] = item
            return item

        return add

    def __missing__(self, name: str) -> T:
        from importlib.metadata import entry_points

        if not self._extended:
            self._extended = True
            for point in entry_points(group=f"sciprism.{self.kind.replace(' ', '_')}s"):
                point.load()
            return self[name]
        raise InputError(f"unknown {self.kind} {name!r}; known: {', '.join(sorted(self)) or 'none'}")


def import_lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which imports a public name on first use, so that its import is cheap.

    modules: a module of the package -> the names that are taken from it.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def import_name(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return import_name


def rank_similar(wanted: str, names: Sequence[str], count: int = 3) -> list[tuple[float, int]]:
    """Return similarity (0 to 100) and position of the `count` names most similar to one, best first.

    Case and punctuation do not count.
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract
    from rapidfuzz.utils import default_process

    matches = extract(wanted, names, scorer=ratio, processor=default_process, limit=count)
    return [(score, position) for _, score, position in matches]


def most_similar(wanted: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Return the `count` names most similar to one, best first."""
    return [names[position] for _, position in rank_similar(wanted, names, count)]

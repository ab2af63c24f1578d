"""SPECTER's training files: pickles of AllenNLP instances, each a triplet of papers. Nothing in them is run."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

from sciprism.errors import InputError
from sciprism.papers.records import Paper

SUFFIXES = (".p", ".pkl", ".pickle")
ROLES = ("source", "pos", "neg")  # the query, its positive and its negative
SEPARATOR = "[SEP]"  # the token between title and abstract


class _StandIn:
    """An object of a class that the file names, whatever it is: never built, only its values are kept."""

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any, **_: Any) -> Self:
        made = super().__new__(cls)
        made.args, made.state = args, {}
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def extend(self, values: Any) -> None: ...


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ARG002 (the signature of pickle)
        return _StandIn


def is_specter_pickle(path: Path) -> bool:
    """Return whether a file has the name of a pickle."""
    return path.suffix in SUFFIXES


def read_specter_pickle(path: Path) -> Iterator[tuple[Paper, ...]]:
    """Yield query, positive and negative of each instance; texts are tokens with spaces between.

    Raises InputError with the number of an instance that is damaged or no triplet.
    """
    number = 0
    with path.open("rb") as file:
        unpickler = _Unpickler(file)
        while file.peek(1):
            number += 1
            try:
                fields = unpickler.load().state["fields"]
                yield tuple(_parse_paper(fields, role) for role in ROLES)
            except (pickle.UnpicklingError, AttributeError, LookupError, TypeError, ValueError, EOFError) as error:
                raise InputError(f"{path}, instance {number}: not a triplet of SPECTER's training files") from error


def read_pickled_papers(path: Path) -> Iterator[Paper]:
    """Yield each paper of the instances once."""
    seen = set[str]()
    for paper in chain.from_iterable(read_specter_pickle(path)):
        if paper.id not in seen:
            seen.add(paper.id)
            yield paper


def _parse_paper(fields: Any, role: str) -> Paper:
    def tokens(part: str) -> list[str]:
        field = fields.get(f"{role}_{part}")
        return [token.args[0] for token in field.state["tokens"]] if field else []

    words = tokens("title")
    end = words.index(SEPARATOR) if SEPARATOR in words else len(words)
    name = str(fields[f"{role}_paper_id"].state["metadata"])
    return Paper(id=name, title=" ".join(words[:end]), abstract=" ".join([*words[end + 1 :], *tokens("abstract")]))

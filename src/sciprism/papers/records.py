"""The two records everything else is about: a paper and a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One scientific paper as any source may describe it; only the id is certain to be there.

    `ids` holds the paper's names in other systems, lower-case keys without resolver prefixes:
    doi, pmid, pmcid, arxiv, openalex, s2, isbn, url. `references` holds ids of cited papers, in the
    vocabulary of the source (`doi:10.1/x`, an OpenAlex id, an id of the same file ...).
    """

    id: str
    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    fields: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the paper as JSON values, empty fields left out."""
        return _filled(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Paper:
        """Build a paper from what `to_json` wrote; raises ValueError naming a key that is wrong."""
        return cls(**_checked(cls, row))


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One class of a vocabulary: a MeSH descriptor, a field of study, a thesaurus concept.

    `broader` holds the ids of the labels directly above; `codes` other notations, such as tree numbers.
    """

    id: str
    name: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    broader: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the label as JSON values, empty fields left out."""
        return _filled(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Label:
        """Build a label from what `to_json` wrote; raises ValueError naming a key that is wrong."""
        return cls(**_checked(cls, row))


def _filled(record: Paper | Label) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for item in fields(record):
        value = getattr(record, item.name)
        if isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        if value or value == 0:
            row[item.name] = value
    return row


def _checked(cls: type[Paper] | type[Label], row: Mapping[str, Any]) -> dict[str, Any]:
    """Check each known key's type and turn lists into tuples; unknown keys are the caller's affair."""
    values: dict[str, Any] = {}
    for item in fields(cls):
        if item.name not in row or row[item.name] is None:
            continue
        value = row[item.name]
        kind = str(item.type)
        if kind.startswith("tuple"):
            values[item.name] = _strings(item.name, value)
        elif kind.startswith("Mapping"):
            if not isinstance(value, Mapping):
                raise ValueError(f"{item.name} is {value!r}, not an object")
            values[item.name] = {str(k): str(v) for k, v in value.items()}
        elif kind.startswith("int"):
            values[item.name] = _year(item.name, value)
        else:
            values[item.name] = _string(item.name, value)
    if not values.get("id"):
        raise ValueError("no id")
    if cls is Label and not values.get("name"):
        raise ValueError("no name")
    return values


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{name} is {value!r}, not a list")
    return tuple(_string(name, item) for item in value)


def _string(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{name} is {value!r}, not a text")
    return str(value)


def _year(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name} is {value!r}, not a year")
    try:
        return int(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}, not a year") from None

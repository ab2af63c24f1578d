"""The basic records: a paper, a label, and the deletion of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Self

PAPER_ID_SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2")
"""Systems whose id belongs to one paper; an ISBN or a URL is shared by the parts of a book."""
ID_SYSTEMS = (*PAPER_ID_SYSTEMS, "isbn", "url")
PRINTED = ("volume", "issue", "pages")  # fields that say where a paper is printed


class _Record:
    """A record that is written as a JSON object of its fields and read from one, without its place."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # every record is a dataclass

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values, without empty fields."""
        row: dict[str, Any] = {}
        for name, kind, is_content in _list_fields(type(self)):
            value = getattr(self, name)
            if is_content and (value or value == 0):
                row[name] = _JSON[kind](value) if kind in _JSON else value
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], **others: Any) -> Self:
        """Build a record from the JSON of `to_json`; raises ValueError naming a wrong key.

        Lists become tuples; unknown keys are ignored. others: fields that the JSON does not hold.
        """
        values: dict[str, Any] = {}
        for name, kind, _ in _list_fields(cls):
            value = row.get(name)
            if value is None:
                continue
            if kind == "tuple":
                if isinstance(value, str) or not isinstance(value, Iterable):
                    raise ValueError(f"{name} is {value!r}, not a list")
                values[name] = tuple(_check_text(name, text) for text in value)
            elif kind == "Mapping":
                if not isinstance(value, Mapping):
                    raise ValueError(f"{name} is {value!r}, not an object")
                values[name] = {str(k): str(v) for k, v in value.items()}
            else:
                values[name] = (_check_year if kind == "int" else _check_text)(name, value)
        if not values.get("id"):
            raise ValueError("no id")
        if cls is Label and not values.get("name"):
            raise ValueError("no name")
        return cls(**values, **others)


_JSON: dict[str, type] = {"tuple": list, "Mapping": dict}


def _read_fields(record: Any) -> tuple[tuple[str, str, bool], ...]:
    """Return for each field of the JSON its name, the first word of its type, and whether it is content."""
    named = (f for f in fields(record) if f.name not in ("place", "notice"))
    return tuple((f.name, re.split(r"\W", str(f.type))[0], f.compare) for f in named)


_list_fields: Callable[[Any], tuple[tuple[str, str, bool], ...]] = cache(_read_fields)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record was read: the file as it was named, the record's number and its line (from 1).

    version: of the paper, where the file numbers several, from 2; else None. It is not stored. others: the places of
    further records that were merged with this one.
    """

    file: str
    record: int | None = None
    line: int | None = None
    version: int | None = None
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        record = "" if self.record is None else f", record {self.record}"
        line = "" if self.line is None else f" (line {self.line})"
        return "; ".join((f"{self.file}{record}{line}", *self.others))

    def list_all(self) -> list[str]:
        """Return the places of all records, this one first."""
        return [str(replace(self, others=())), *self.others]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(_Record):
    """One scientific paper; only the id is required.

    ids: system (one of `ID_SYSTEMS`) -> id without resolver prefix. references: ids of cited papers, as the
    source writes them (`doi:10.1/x`, an OpenAlex id, an id of the same file ...). volume, issue, pages: where it is
    printed, for `dedupe` and bibliographies; orcids: name of an author -> ORCID, for `disambiguate`; collections do not
    store them. place: where it was read, if it was. notice: what its record says besides ("retracted paper"), which
    reports of reading count.
    Papers are equal whatever their places, also in print.

    >>> from sciprism import Paper
    >>> paper = Paper(id="dna", title="Nucleic acids", year=1953, ids={"doi": "10.1038/171737a0"})
    >>> Paper.from_json(paper.to_json()) == paper
    True
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
    volume: str = field(default="", compare=False, repr=False)
    issue: str = field(default="", compare=False, repr=False)
    pages: str = field(default="", compare=False, repr=False)
    orcids: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    place: Place | None = field(default=None, compare=False, repr=False)
    notice: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One mention of an author on a paper. author: the true person. block: first initial and surname."""

    id: str
    paper: int
    name: str
    block: str
    author: str
    position: int = 0
    coauthors: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()
    email: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A record of a data set that takes a paper out of it: the paper's id, and where the record was read."""

    id: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label(_Record):
    """One class of a vocabulary: a MeSH descriptor, a field of study, a thesaurus concept.

    broader: ids of the labels directly above. codes: other notations, such as tree numbers.
    """

    id: str
    name: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    broader: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


def _check_text(name: str, value: Any) -> str:
    if type(value) is not str and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise ValueError(f"{name} is {value!r}, not a text")
    return str(value)


def _check_year(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name} is {value!r}, not a year")
    try:
        return int(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}, not a year") from None

"""Papers of a collection by id, DOI, title or the beginning of an id, and those nearest to a name that none has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.papers.cleaning import normalise_doi
from sciprism.papers.duplicates import identify, is_same_paper
from sciprism.papers.records import Paper
from sciprism.registry import rank_similar

if TYPE_CHECKING:
    from sciprism.store.collection import StoredCollection

SHOWN = 3
"""Papers that a message names."""
MAX_TITLE = 80
"""Characters of a title in a message."""


def find_paper(collection: StoredCollection, name: str) -> int:
    """Return the row of the paper with an id, else with a DOI, else a title, else the only id that begins so.

    A DOI may be a link or begin with `doi:`. Case counts in ids alone. Raises InputError with the nearest papers,
    or with the ids of the several papers that have the name.
    """
    if (row := collection.find_row(name)) is not None:
        return row
    doi = normalise_doi(name)
    found = _find_names(collection, name, doi)
    for matches, what in (
        (found.of_doi, f"the DOI {doi!r}"),
        (found.of_title, f"the title {name!r}"),
        (found.of_prefix, f"an id that begins with {name!r}"),
    ):
        if matches.count > 1:
            raise InputError(f"{matches.count:,} papers of {collection.folder} have {what}; name an id: {matches}")
        if matches.count:
            return collection.find(matches.first[0])
    raise InputError(describe_unknown(collection, name, "the DOI" if doi else "the id or title"))


def find_copies(collection: StoredCollection, papers: Sequence[Paper]) -> list[int | None]:
    """Return the rows of papers that were read elsewhere, None for those of which the collection has no copy.

    A copy has the same DOI, or the same id or title and nothing that tells the two apart. One shard is read at a time.
    """
    by_name: dict[tuple[str, str], list[int]] = {}
    for number, paper in enumerate(papers):
        for name in _list_names(paper.id, paper.title, paper.ids):
            by_name.setdefault(name, []).append(number)
    found: list[int | None] = [None] * len(papers)
    identities = [identify(paper) for paper in papers]
    for ids, titles, systems in _names(collection):
        for id, title, known in zip(ids, titles, systems, strict=True):
            names = _list_names(id, title, dict(known or ()))
            numbers = {number for name in names for number in by_name.get(name, ()) if found[number] is None}
            for number in numbers:
                row = collection.find(id)
                other = identify(collection.papers([row])[0])
                same_doi = any(name[0] == "doi" and number in by_name.get(name, ()) for name in names)
                if same_doi or is_same_paper(identities[number], other):
                    found[number] = row
    return found


def describe_unknown(collection: StoredCollection, name: str, what: str = "the id") -> str:
    """Return that no paper has a name, with the papers whose id or title is nearest; one shard is read at a time."""
    best: dict[str, tuple[float, str]] = {}
    for ids, titles, _ in _names(collection):
        for column in (ids, titles):
            for score, position in rank_similar(name, column, SHOWN):
                best[ids[position]] = max(best.get(ids[position], (0.0, "")), (score, titles[position]))
        best = dict(sorted(best.items(), key=lambda item: -item[1][0])[:SHOWN])
    near = "; ".join(f"{id!r} ({shorten(title, MAX_TITLE, placeholder=' ...')})" for id, (_, title) in best.items())
    return f"{collection.folder} has no paper with {what} {name!r}; the nearest: {near or 'none, it is empty'}"


@dataclass(slots=True)
class _Matches:
    """How many papers match, and the ids of the first."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, id: str) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(id)

    def __str__(self) -> str:
        more = f" and {self.count - SHOWN:,} more" if self.count > SHOWN else ""
        return ", ".join(map(repr, self.first)) + more


@dataclass(slots=True)
class _NamedPapers:
    """The papers that have a DOI, a title, or an id that begins with a text."""

    of_doi: _Matches = field(default_factory=_Matches)
    of_title: _Matches = field(default_factory=_Matches)
    of_prefix: _Matches = field(default_factory=_Matches)


def _find_names(collection: StoredCollection, name: str, doi: str) -> _NamedPapers:
    """Compare a name, and the DOI in it, with all papers; one shard is read at a time."""
    found, title = _NamedPapers(), _fold(name)
    if not (title or doi):
        return found
    for ids, titles, systems in _names(collection):
        for id, other, known in zip(ids, titles, systems, strict=True):
            if doi and doi == _find_doi(id, dict(known or ())):
                found.of_doi.add(id)
            if _fold(other) == title:
                found.of_title.add(id)
            if id.startswith(name):
                found.of_prefix.add(id)
    return found


def _list_names(id: str, title: str, systems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what a copy of a paper may share with it: id, DOI, title."""
    names = (("id", id), ("doi", _find_doi(id, systems)), ("title", _fold(title)))
    return [(kind, name) for kind, name in names if name]


def _find_doi(id: str, systems: Mapping[str, str]) -> str:
    return systems.get("doi") or normalise_doi(id)


def _names(
    collection: StoredCollection,
) -> Iterator[tuple[list[str], list[str], list[list[tuple[str, str]]]]]:
    """Yield ids, titles and other systems' ids of the papers, shard by shard, without superseded rows."""
    live, first = collection.mask(), 0
    for columns in collection.columns("id", "title", "ids"):
        rows = len(columns[0])
        retained = range(rows) if live is None else live[first : first + rows].nonzero()[0].tolist()
        ids, titles, systems = ([column[i] for i in retained] for column in columns)
        yield ids, titles, systems
        first += rows


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())

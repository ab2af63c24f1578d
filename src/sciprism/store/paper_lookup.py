"""Find papers of a collection: all in order, one by a name, copies of others; and say why none passes a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.papers.cleaning import fold_text, normalize_doi
from sciprism.papers.identity import PaperIdentity, identify, is_same_paper, may_share_source
from sciprism.papers.records import Paper
from sciprism.registry import rank_similar
from sciprism.store.collection import StoredCollection
from sciprism.store.shard_files import Filter

READ_ROWS = 4096  # papers that are read at once
NEAREST = 3  # papers that a message names
MAX_TITLE = 80  # characters of a title in a message
MAX_VALUES = 5  # venues or fields that a message names


def list_ids(stored: StoredCollection) -> list[str]:
    """List the ids of all papers."""
    parts = zip(stored.columns("id"), _rows_by_shard(stored), strict=True)
    return [ids[row] for (ids,), rows in parts for row in rows]


def iterate_papers(stored: StoredCollection) -> Iterator[list[Paper]]:
    """Yield all papers in parts."""
    for start in range(0, len(stored.live), READ_ROWS):
        yield stored.papers(stored.live[start : start + READ_ROWS])


def iterate_vectors(stored: StoredCollection, space: str) -> Iterator[Floats]:
    """Yield the vectors of all papers shard by shard, float32 (b, d)."""
    for matrix, rows in zip(stored.vectors(space), _rows_by_shard(stored), strict=True):
        yield matrix.take(rows)


def number_papers(stored: StoredCollection) -> Rows:
    """Return row -> the number of its paper among all papers, -1 for a row without one."""
    numbers = np.full(stored.rows, -1, np.int64)
    numbers[stored.live] = np.arange(len(stored.live))
    return numbers


def _rows_by_shard(stored: StoredCollection) -> Iterator[Rows]:
    """Yield the rows of papers, numbered in their shard."""
    for first, shard in zip(stored.shard_starts, stored.manifest.shards, strict=True):
        start, stop = np.searchsorted(stored.live, (first, first + shard.rows))
        yield stored.live[start:stop] - first


def find_paper(collection: StoredCollection, name: str) -> int:
    """Return the row of the paper with an id, else with a DOI, else a title, else the only id that begins so.

    A DOI may be a link or begin with `doi:`. Case counts in ids alone. Raises InputError with the nearest papers,
    or with the ids of the several papers that have the name.
    """
    if (row := collection.find_row(name)) is not None:
        return row
    doi = normalize_doi(name)
    for what, ids in _find_names(collection, name, doi).items():
        if len(ids) > 1:
            more = f" and {len(ids) - NEAREST:,} more" if len(ids) > NEAREST else ""
            shown = ", ".join(map(repr, ids[:NEAREST])) + more
            raise InputError(f"{len(ids):,} papers of {collection.folder} have {what}; name an id: {shown}")
        if ids:
            return collection.find(ids[0])
    raise InputError(describe_unknown(collection, name, "the DOI" if doi else "the id or title"))


def find_copies(collection: StoredCollection, papers: Sequence[Paper]) -> list[int | None]:
    """Return the rows of papers that were read elsewhere, None for those of which the collection has no copy.

    A copy has the same DOI, or the same id or title and nothing that tells the two apart. One shard is read at a time.
    """
    by_name: dict[tuple[str, str], list[int]] = {}
    for number, paper in enumerate(papers):
        for name in _list_names(paper.id, paper.title, paper.ids):
            by_name.setdefault(name, []).append(number)
    rows_of: list[int | None] = [None] * len(papers)
    identities = [identify(paper) for paper in papers]
    for ids, titles, systems in _iterate_names(collection):
        for id, title, other_ids in zip(ids, titles, systems, strict=True):
            names = _list_names(id, title, dict(other_ids or ()))
            numbers = {number for name in names for number in by_name.get(name, ()) if rows_of[number] is None}
            for number in numbers:
                row = collection.find(id)
                other = identify(collection.papers([row])[0])
                same_doi = any(name[0] == "doi" and number in by_name.get(name, ()) for name in names)
                is_copy = is_same_paper if papers[number].id == id else _is_same_title
                if same_doi or is_copy(identities[number], other):
                    rows_of[number] = row
    return rows_of


def _is_same_title(one: PaperIdentity, other: PaperIdentity) -> bool:
    return one.title == other.title and not one.generic and may_share_source(one, other)


def describe_unknown(collection: StoredCollection, name: str, what: str = "the id") -> str:
    """Return that no paper has a name, with the papers whose id or title is nearest; one shard is read at a time."""
    best: dict[str, tuple[float, str]] = {}
    for ids, titles, _ in _iterate_names(collection):
        for column in (ids, titles):
            for score, position in rank_similar(name, column, NEAREST):
                best[ids[position]] = max(best.get(ids[position], (0.0, "")), (score, titles[position]))
        best = dict(sorted(best.items(), key=lambda item: -item[1][0])[:NEAREST])
    near = "; ".join(f"{id!r} ({shorten(title, MAX_TITLE, placeholder=' ...')})" for id, (_, title) in best.items())
    return f"{collection.folder} has no paper with {what} {name!r}; the nearest: {near or 'none, it is empty'}"


def _find_names(collection: StoredCollection, name: str, doi: str) -> dict[str, list[str]]:
    """Return the ids of papers with the DOI in a name, with it as title, and with it before their id."""
    of_doi, of_title, of_prefix, title = list[str](), list[str](), list[str](), _fold(name)
    for ids, titles, systems in _iterate_names(collection) if title or doi else ():
        for id, other, other_ids in zip(ids, titles, systems, strict=True):
            if doi and doi == _find_doi(id, dict(other_ids or ())):
                of_doi.append(id)
            if _fold(other) == title:
                of_title.append(id)
            if id.startswith(name):
                of_prefix.append(id)
    names = f"the DOI {doi!r}", f"the title {name!r}", f"an id that begins with {name!r}"
    return dict(zip(names, (of_doi, of_title, of_prefix), strict=True))


def _list_names(id: str, title: str, systems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what a copy of a paper may share with it: id, DOI, title."""
    names = (("id", id), ("doi", _find_doi(id, systems)), ("title", _fold(title)))
    return [(kind, name) for kind, name in names if name]


def _find_doi(id: str, systems: Mapping[str, str]) -> str:
    return systems.get("doi") or normalize_doi(id)


def _iterate_names(collection: StoredCollection) -> Iterator[tuple[list[str], list[str], list[list[tuple[str, str]]]]]:
    """Yield ids, titles and other systems' ids of the papers, shard by shard, without superseded rows."""
    live, first = collection.mask(), 0
    for columns in collection.columns("id", "title", "ids"):
        rows = len(columns[0])
        retained = range(rows) if live is None else live[first : first + rows].nonzero()[0].tolist()
        ids, titles, systems = ([column[i] for i in retained] for column in columns)
        yield ids, titles, systems
        first += rows


def _fold(title: str) -> str:
    return " ".join(fold_text(title).split())


def check_filter(collection: StoredCollection, filter: Filter) -> None:
    """Raise InputError for a condition that no paper meets, or that no paper meets together with the others."""
    if not filter or _passes(collection, filter):
        return
    name = collection.folder
    if not _passes(collection, replace(filter, venue="", field="", author="")):
        years = [year for (part,) in collection.columns("year") for year in part if year is not None]
        span = f"its first year is {min(years)}, its last {max(years)}" if years else "none of its papers has a year"
        raise InputError(f"no paper of {name} is from these years; {span}")
    for column, condition, what in list_conditions(filter):
        if not _passes(collection, condition):
            raise InputError(f"no paper of {name} has {what}; {_list_values(collection, column)}")
    raise InputError(f"no paper of {name} meets all conditions together, though each is met by some; leave one out")


def list_conditions(filter: Filter) -> Iterator[tuple[str, Filter, str]]:
    """Yield each condition on names: the column that it is on, a filter of it alone, and what a paper then has."""
    if filter.venue:
        yield "venue", Filter(venue=filter.venue), f"a venue with {filter.venue!r} in it"
    if filter.field:
        yield "fields", Filter(field=filter.field), f"the field {filter.field!r}"
    if filter.author:
        yield "authors", Filter(author=filter.author), f"the author {filter.author!r}"


def _passes(collection: StoredCollection, filter: Filter) -> bool:
    mask = collection.mask(filter)
    return mask is None or bool(mask.any())


def _list_values(collection: StoredCollection, column: str) -> str:
    counts: Counter[str] = Counter()
    for (values,) in collection.columns(column):
        for value in values:
            counts.update(filter(None, value if isinstance(value, list) else [value]))
    most = ", ".join(value for value, _ in counts.most_common(MAX_VALUES))
    return f"it has {len(counts):,}, the most frequent: {most}" if counts else "its papers have none"

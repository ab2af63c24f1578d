"""Find papers of a collection: all in order, one by a name, copies of others; and say why none passes a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from textwrap import shorten

import sciprism.papers.identity as identity
from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.cleaning import fold_text, normalize_doi
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
    parts = (stored.shard_column(shard, "id").take(rows) for shard, _, rows in stored.split_by_shard(stored.live))
    return [id for part in parts for id in part.to_pylist()]


def iterate_papers(stored: StoredCollection) -> Iterator[list[Paper]]:
    """Yield all papers in parts."""
    for start in range(0, len(stored.live), READ_ROWS):
        yield stored.papers(stored.live[start : start + READ_ROWS])


def iterate_vectors(stored: StoredCollection, space: str) -> Iterator[Floats]:
    """Yield the vectors of all papers shard by shard, float32 (b, d)."""
    matrices = stored.vectors(space)
    for shard, _, rows in stored.split_by_shard(stored.live):
        yield matrices[shard].take(rows)


IDENTIFIERS = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv": "arXiv id", "openalex": "OpenAlex id"}
Systems = Sequence[tuple[str, str]]  # ids of one paper, by system


def find_paper(collection: StoredCollection, name: str) -> int:
    """Return the row of the paper with an id, else with an identifier, else a title, else the only id that begins so.

    An identifier is a DOI, arXiv id, PMID, PMCID, OpenAlex or Semantic Scholar id, or a link to one. Case counts in ids
    alone. Raises InputError with the nearest papers, or with the ids of the several papers that have the name.
    """
    if (row := collection.find_row(name)) is not None:
        return row
    title, tests = _fold(name), _test_ids(name)
    if title:
        tests[f"the title {name!r}"] = lambda _id, other, _systems: _fold(other) == title
        tests[f"an id that begins with {name!r}"] = lambda id, _title, _systems: id.startswith(name)
    for what, ids in _find_ids(collection, tests).items():
        if len(ids) > 1:
            more = f" and {len(ids) - NEAREST:,} more" if len(ids) > NEAREST else ""
            shown = ", ".join(map(repr, ids[:NEAREST])) + more
            raise InputError(f"{len(ids):,} papers of {collection.folder} have {what}; name an id: {shown}")
        if ids:
            return collection.find(ids[0])
    doi = any(what.startswith("the DOI") for what in tests)
    raise InputError(describe_unknown(collection, name, "the DOI" if doi else "the id or title"))


def find_identified(collection: StoredCollection, text: str) -> list[int]:
    """Return the rows of the papers whose identifier a text is, or is a link to."""
    found = _find_ids(collection, tests) if (tests := _test_ids(text)) else {}
    return [collection.find(id) for ids in found.values() for id in ids]


Test = Callable[[str, str, Systems], bool]  # of the id, the title and other systems' ids of a paper


def _test_ids(text: str) -> dict[str, Test]:
    """Return what a text may be an identifier of, and which papers have it."""
    tests: dict[str, Test] = {}
    for system, value in (identity.read_ids(text) if any(map(str.isdigit, text)) else {}).items():
        ids = {(system, value)} | ({("doi", identity.ARXIV_DOI + value)} if system == "arxiv" else set())
        tests[f"the {IDENTIFIERS.get(system, system)} {value!r}"] = partial(_has_id, ids)
    return tests


def _has_id(wanted: set[tuple[str, str]], id: str, _title: str, systems: Systems) -> bool:
    own = [("doi", normalize_doi(id))] if "10." in id else []
    return any((system, value.lower()) in wanted for system, value in (*systems, *own))


def _find_ids(collection: StoredCollection, tests: Mapping[str, Test]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {what: [] for what in tests}
    for paper in _iterate_names(collection):
        for what, has in tests.items():
            if has(*paper):
                found[what].append(paper[0])
    return found


def find_copies(collection: StoredCollection, papers: Sequence[Paper]) -> list[int | None]:
    """Return the rows of papers that were read elsewhere, None for those of which the collection has no copy.

    A copy is what `PaperIndex.find_copy` finds. One shard is read at a time.
    """
    numbers: dict[tuple[str, str], list[int]] = {}
    for number, paper in enumerate(papers):
        for name in identity.list_names(paper):
            numbers.setdefault(name, []).append(number)
    similar: list[dict[str, int]] = [{} for _ in papers]  # id -> row
    for id, title, systems in _iterate_names(collection):
        for name in identity.list_names(Paper(id=id, title=title, ids=dict(systems))):
            for number in numbers.get(name, ()):
                similar[number][id] = collection.find(id)
    rows: list[int | None] = []
    for paper, near in zip(papers, similar, strict=True):
        copy = PaperIndex(collection.papers([*near.values()])).find_copy(paper)
        rows.append(near[copy[1].id] if copy else None)
    return rows


class PaperIndex:
    """Papers by id, ids of other systems and title. containers: ids that were found to be of no paper."""

    def __init__(self, papers: Iterable[Paper] = ()) -> None:
        self.containers: set[int] = set()
        self._by_name: dict[tuple[str, str], list[tuple[identity.PaperIdentity, Paper]]] = {}
        for paper in papers:
            self.add(paper)

    def add(self, paper: Paper) -> None:
        """Add one paper."""
        mine = identity.identify(paper)
        for name in identity.list_names(paper):
            self._by_name.setdefault(name, []).append((mine, paper))

    def find_copy(self, paper: Paper) -> tuple[str, Paper] | None:
        """Return by what a paper is here, `id`, a system such as `doi`, or `title`, and the copy; else None.

        An id counts where nothing tells the two papers apart, a title as in `is_same_title`, an id of another system
        unless it is of several papers (`find_containers`).
        """
        if not (names := [name for name in identity.list_names(paper) if name in self._by_name]):
            return None
        mine = identity.identify(paper)
        for name in names:
            others, is_copy = self._by_name[name], _RULES.get(name[0], identity.PaperIdentity.shares_id)
            every = [mine, *(other for other, _ in others)]
            containers = set() if name[0] in _RULES else identity.find_containers(every)
            self.containers |= containers
            for other, copy in others if not containers else ():
                if is_copy(mine, other):
                    return name[0], copy
        return None


_RULES = {"id": identity.is_same_paper, "title": identity.is_same_title}  # ids of other systems are enough


def describe_unknown(collection: StoredCollection, name: str, what: str = "the id") -> str:
    """Return that no paper has a name, with the papers whose id or title is nearest; one shard is read at a time."""
    best: dict[str, tuple[float, str]] = {}
    for ids, titles in collection.columns("id", "title"):
        for column in (ids, titles):
            for score, position in rank_similar(name, column, NEAREST):
                best[ids[position]] = max(best.get(ids[position], (0.0, "")), (score, titles[position]))
        best = dict(sorted(best.items(), key=lambda item: -item[1][0])[:NEAREST])
    near = "; ".join(f"{id!r} ({shorten(title, MAX_TITLE, placeholder=' ...')})" for id, (_, title) in best.items())
    return f"{collection.folder} has no paper with {what} {name!r}; the nearest: {near or 'none, it is empty'}"


def _iterate_names(collection: StoredCollection) -> Iterator[tuple[str, str, Systems]]:
    """Yield id, title and other systems' ids of the papers, without superseded rows; one shard is read at a time."""
    for shard, _, rows in collection.split_by_shard(collection.live):
        names = (collection.shard_column(shard, name).take(rows).to_pylist() for name in ("id", "title", "ids"))
        yield from ((id, title, systems or ()) for id, title, systems in zip(*names, strict=True))


def _fold(title: str) -> str:
    return " ".join(fold_text(title).split()).rstrip(" .")


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
            counts: Counter[str] = Counter()
            for (values,) in collection.columns(column):
                for value in values:
                    counts.update(one for one in (value if isinstance(value, list) else [value]) if one)
            most = ", ".join(value for value, _ in counts.most_common(MAX_VALUES))
            has = f"it has {len(counts):,}, the most frequent: {most}" if counts else "its papers have none"
            raise InputError(f"no paper of {name} has {what}; {has}")
    raise InputError(f"no paper of {name} meets all conditions together, though each is met by some; leave one out")


def list_conditions(filter: Filter) -> Iterator[tuple[str, Filter, str]]:
    """Yield each condition on names: the column that it is on, a filter of it alone, and what a paper then has."""
    for column, value, what in (
        ("venue", filter.venue, "a venue with {!r} in it"),
        ("fields", filter.field, "the field {!r}"),
        ("authors", filter.author, "the author {!r}"),
    ):
        if value:
            yield column, Filter(**{column.rstrip("s"): value}), what.format(value)  # type: ignore[arg-type]


def _passes(collection: StoredCollection, filter: Filter) -> bool:
    mask = collection.mask(filter)
    return mask is None or bool(mask.any())

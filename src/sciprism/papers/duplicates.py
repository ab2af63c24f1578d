"""Find the records of one paper: those that share a key are compared, and joined where it is sure that they are one."""

from __future__ import annotations

import pickle
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from math import exp
from operator import attrgetter
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import numpy as np

import sciprism.papers.comparison as comparison
from sciprism.papers.comparison import WEIGHTS, Citation, Weights
from sciprism.papers.identity import (
    MAX_WORKS,
    PaperIdentity,
    find_equal_runs,
    hash_text,
    identify,
    is_same_paper,
    join_groups,
)
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.parallel import Progress, show_nothing

Pair = tuple[int, int]
MERGE = 0.8  # probability from which two records are surely of one paper
REVIEW = 0.1  # probability from which they may be
CONTRADICTION = -4.0  # log odds of two records that must not come into one group by way of others
MAX_CHECKED = 12  # records of a group that those of another are compared with
MAX_ISSUES = 60  # of a file whose issues are not numbers of records
RECURS = 3  # volumes, issues or years of a journal in which a title makes a column
HELD = 1 << 13  # records whose compared form is in memory; that of others is in a file
TITLE_ENDS = 20  # letters at the begin and the end of a title that are keys
LONGEST = 3  # words of a title that are a key together
MAX_BLOCK = 40  # records of one key that are all compared with each other; of more, each with its neighbours
NEIGHBOURS = 8  # that follow by title
PART = 1 << 16  # pairs that are Python's numbers at once, which take five times the memory
_UNDATED = {field: {level: max(0.0, w) for level, w in WEIGHTS[field].items()} for field in ("year", "abstract")}
OF_ONE_PERSON: Weights = {**WEIGHTS, **_UNDATED, "prior": {"": -2.0}}
"""Weights in the list of one person, where equal titles suffice, of whatever years and abstracts."""
WHOLE_TITLE = len(PAPER_ID_SYSTEMS) + 1  # place of its key


class ComparedPair(NamedTuple):
    """Two records by position, the probability that they are of one paper, and the levels of agreement."""

    positions: Pair
    probability: float
    levels: Mapping[str, str]


class IdClash(NamedTuple):
    """One id of different papers, no book's DOI: the position (from 0) and the place of the first record of each."""

    id: str
    positions: tuple[int, ...]
    places: tuple[str, ...]


@dataclass(frozen=True)
class Duplicates:
    """By position (from 0): groups of one paper, preprints with their articles, pairs that may be of one paper.

    count: of all records. columns: groups of papers that share a title which recurs in one journal, in other volumes
    or issues. containers: ids that are of no paper (`find_containers`), as a book's DOI that its chapters have.
    """

    count: int
    groups: list[list[int]]
    columns: list[list[int]]
    versions: list[Pair]
    uncertain: list[ComparedPair]
    containers: set[int]

    @property
    def removed(self) -> int:
        """Count the records that are dropped when one of each group is kept."""
        return sum(len(group) - 1 for group in self.groups)

    def count_all(self) -> dict[str, int]:
        """Return the counts by name."""
        counts = {"records": self.count, "removed": self.removed, "papers": self.count - self.removed}
        counts |= {"preprint_pairs": len(self.versions), "uncertain": len(self.uncertain)}
        return counts | {"columns": len(self.columns), "containers": len(self.containers)}

    def list_papers(self) -> list[list[int]]:
        """Return the records of each paper, in the order of their first ones."""
        joined = {position: group for group in self.groups for position in group}
        groups = (joined.get(position, [position]) for position in range(self.count))
        return [group for position, group in enumerate(groups) if group[0] == position]


def find_duplicates(papers: Iterable[Paper], **options: Any) -> Duplicates:
    """Group the records of one paper, which are read once. options: of `DuplicateFinder.find`.

    >>> one, other = Paper(id="1", title="On the frogs of Ohio", year=1990), Paper(id="2", title="Toads")
    >>> find_duplicates([one, other]).groups
    []
    """
    finder = DuplicateFinder()
    for paper in papers:
        finder.add(paper)
    return finder.find(**options)


def find_versions(papers: Sequence[Paper]) -> list[list[int]]:
    """Return the positions of each paper's records in the list of one person, preprints with their articles.

    Of each paper, the first record with an abstract comes first, if any has one.
    """
    groups = find_duplicates(papers, merge_preprints=True, weights=OF_ONE_PERSON).list_papers()
    return [sorted(group, key=lambda row: not papers[row].abstract) for group in groups]


class DuplicateFinder:
    """Takes records one by one, and finds those of one paper. Memory: about 300 bytes a record, and `HELD` records."""

    def __init__(self) -> None:
        self._held, self._titles = list[Citation](), list[str]()
        self._file = SpooledTemporaryFile(max_size=1 << 24)  # noqa: SIM115
        self._ids, self._ends = array("Q"), array("Q", [0])
        self._keys: list[array[int]] = []
        self._issues = defaultdict[int, Counter[str]](Counter)
        self._numbered: set[int] = set()
        self._read = lru_cache(HELD)(self._load)

    def add(self, paper: Paper) -> None:
        """Add the next record."""
        record = comparison.cite(paper)
        keys = list(_list_keys(record))
        self._keys = self._keys or [array("Q") for _ in keys]
        for column, key in zip(self._keys, keys, strict=True):
            column.append(key)
        self._ids.append(hash_text(record.id))
        self._titles.append(record.fields.get("title", [""])[0][:40])
        if record.identity.file and (issue := paper.issue):
            self._issues[record.identity.file][issue] += 1
        if len(self._held) < HELD:
            self._held.append(record)
        else:
            self._ends.append(self._ends[-1] + self._file.write(pickle.dumps(record)))

    def __getitem__(self, position: int) -> Citation:
        """Return what is compared of a record. Issues of a file that number its records are left out."""
        record = self._held[position] if position < HELD else self._read(position - HELD)
        if record.identity.file in self._numbered:
            record.fields.pop("issue", None)
        return record

    def find(
        self,
        *,
        decisions: Mapping[Pair, bool] | None = None,
        merge_preprints: bool = False,
        weights: Weights = WEIGHTS,
        progress: Progress = show_nothing,
    ) -> Duplicates:
        """Group all records added so far.

        decisions: what a person said of pairs. merge_preprints: whether they are one paper with their article.
        """
        decided, by_probability = decisions or {}, attrgetter("probability")
        recurring = self._find_recurring()

        def judge(one: Citation, other: Citation) -> tuple[dict[str, str], float, str]:
            levels = comparison.compare(one, other)
            recurs = bool(recurring) and not recurring.isdisjoint((_name_column(one), _name_column(other)))
            if recurs and levels.get("title") == "equal":
                levels["title"] = "generic"
            return levels, comparison.weigh(levels, weights), comparison.tell_apart(levels, recurs)

        versions, sure, unsure = list[Pair](), list[ComparedPair](), list[ComparedPair]()
        containers, columns = set[int](), dict[int, list[int]]()
        for pair in self.list_candidates():
            progress("comparing", "records", pair[0] + 1, len(self._ids))
            if pair in decided:
                continue
            one, other = map(self.__getitem__, pair)
            levels, odds, apart = judge(one, other)
            compared = ComparedPair(pair, 1 / (1 + exp(-odds)), levels)
            if one.identity.contradicts(other.identity):
                containers |= one.identity.list_shared_ids(other.identity)
            if linked := comparison.is_version(one, other, levels):
                versions.append(pair)
            is_sure = not apart and compared.probability >= MERGE and comparison.is_sufficient(levels)
            if apart == "column":
                join_groups(columns, *pair)
            elif merge_preprints if linked else is_sure:
                sure.append(compared)
            elif compared.probability >= REVIEW and not linked and not apart:
                unsure.append(compared)
        sure.sort(key=by_probability, reverse=True)

        def contradict(first: int, second: int) -> bool:
            _, odds, apart = judge(self[first], self[second])
            return bool(apart) or odds < CONTRADICTION

        groups = _join(sure, decided, contradict)
        separate = (pair for pair in sure + unsure if pair.positions[1] not in groups.get(pair.positions[0], ()))
        uncertain = sorted(separate, key=by_probability, reverse=True)
        return Duplicates(len(self._ids), _list_groups(groups), _list_groups(columns), versions, uncertain, containers)

    def find_clashes(self, containers: set[int]) -> list[IdClash]:
        """Return the ids of several papers, but for those that are known to be of no paper."""
        clashes = list[IdClash]()
        for run in find_equal_runs(self._ids):
            works: dict[int, PaperIdentity] = {}  # the first record of each paper
            for position in run:
                identity = self[position].identity.without(containers)
                if not any(is_same_paper(work, identity) for work in islice(works.values(), MAX_WORKS)):
                    works[position] = identity
            id = self[run[0]].id
            if len(works) > 1 and containers.isdisjoint(identify(Paper(id=id)).ids):
                clashes.append(IdClash(id, tuple(works), tuple(self[position].place for position in works)))
        return sorted(clashes, key=attrgetter("positions"))

    def list_candidates(self) -> Iterator[Pair]:
        """Yield each pair of records that share a key once, in order."""
        titles, pairs = self._titles, array("q")
        for run in (run for column in self._keys for run in find_equal_runs(column)):
            width = len(run)
            if width > MAX_BLOCK:
                run, width = sorted(run, key=titles.__getitem__), NEIGHBOURS + 1
            for place, one in enumerate(run):
                pairs.extend(
                    min(one, other) * len(titles) + max(one, other) for other in run[place + 1 : place + width]
                )
        distinct = np.unique(np.frombuffer(pairs, np.int64))
        del pairs
        for start in range(0, len(distinct), PART):
            yield from (divmod(pair, len(titles)) for pair in distinct[start : start + PART].tolist())

    def _load(self, number: int) -> Citation:
        self._file.seek(self._ends[number])
        record: Citation = pickle.loads(self._file.read(self._ends[number + 1] - self._ends[number]))
        return record

    def _find_recurring(self) -> set[tuple[object, ...]]:
        """Return the titles that are in at least `RECURS` volumes, issues or years of a journal, as `_name_column`."""
        self._numbered = {file for file, n in self._issues.items() if len(n) > max(MAX_ISSUES, n.total() / 2)}
        recurring = set[tuple[object, ...]]()
        for run in find_equal_runs(self._keys[WHOLE_TITLE]) if self._keys else ():
            places = defaultdict[tuple[object, ...], set[tuple[str, Any]]](set)
            for record in map(self.__getitem__, run if len(run) >= RECURS else ()):
                get = record.fields.get
                printed = ("volume", get("volume")), ("year", get("year")), ("issue", get("volume") and get("issue"))
                places[_name_column(record)].update(place for place in printed if place[1])
            recurring |= {
                name for name, of in places.items() if max(Counter(k for k, _ in of).values(), default=0) >= RECURS
            }
        return recurring - {()}


def _name_column(record: Citation) -> tuple[object, ...]:
    """Return a record's title and journal; nothing where it has no journal."""
    journal = record.fields.get("journal")
    return (record.identity.title, journal.titles[0]) if journal else ()


def _list_keys(record: Citation) -> Iterator[int]:
    """Yield the keys of a record, always as many; 0 for one that it does not have."""
    get, identity = record.fields.get, record.identity
    titles = [title.replace(" ", "") for title in get("title", [""])]
    yield from (*identity.ids, identity.abstract)
    yield from map(hash_text, (titles[0], titles[-1], titles[0][:TITLE_ENDS], titles[0][-TITLE_ENDS:]))
    longest = sorted(set(get("title", [""])[0].split()), key=lambda word: (-len(word), word))[:LONGEST]
    yield hash_text(" ".join(longest))
    name = max(get("authors", [[""]])[0], key=lambda word: (len(word), word))
    for parts in ((get("volume"), page := get("pages", [[""]])[0][0]), (name, page), (name, *longest[:1])):
        yield hash_text(" ".join((*parts, str(identity.year)))) if all(parts) else 0


def _list_groups(groups: Mapping[int, list[int]]) -> list[list[int]]:
    return sorted({id(group): sorted(group) for group in groups.values()}.values())


def _join(
    pairs: Iterable[ComparedPair], decisions: Mapping[Pair, bool], contradict: Callable[[int, int], bool]
) -> dict[int, list[int]]:
    """Join the records of each pair, those that a person calls duplicates first; return record -> its group.

    No pair joins two groups where others of their members contradict each other.
    """
    groups: dict[int, list[int]] = {}
    decided = sorted(pair for pair, same in decisions.items() if same)
    for pair in [*decided, *(compared.positions for compared in pairs)]:
        ones, others = (groups.get(position, [position]) for position in pair)
        members = product(ones[:MAX_CHECKED], others[:MAX_CHECKED]) if ones is not others else ()
        checked = {(min(two), max(two)) for two in members} - {pair}
        if pair in decisions or not any(two in decisions or contradict(*two) for two in checked):
            join_groups(groups, *pair)
    return groups

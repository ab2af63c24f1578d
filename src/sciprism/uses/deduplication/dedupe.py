"""Group the records of one paper: candidate pairs, their probabilities, and groups without contradictions."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import exp
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.papers.identity import MAX_YEARS_APART, find_equal_runs, hash_text, join_groups
from sciprism.papers.merging import merge_records
from sciprism.papers.records import Paper
from sciprism.progress import Progress, show_nothing
from sciprism.uses.deduplication.comparison import WEIGHTS, Citation, Weights, cite, compare, is_sufficient, weigh
from sciprism.uses.deduplication.review import ComparedPair, Pair, Review, name_record, read_review, write_review

TITLE_ENDS = 20  # letters at the begin and the end of a title that are keys
LONGEST = 3  # words of a title that are a key together
MAX_BLOCK = 40  # records of one key that are all compared with each other; of more, each with its neighbours
NEIGHBOURS = 8  # that follow by title
PART = 1 << 16  # pairs that are Python's numbers at once, which take five times the memory


def find_candidates(records: Iterable[Citation]) -> Iterator[tuple[int, int]]:
    """Yield each pair of positions whose records share a key once, in order. Memory: about 200 bytes a record."""
    titles: list[str] = []
    columns: list[array[int]] = []
    pairs = array("q")
    for record in records:
        keys = list(_list_keys(record))
        columns = columns or [array("Q") for _ in keys]
        for column, key in zip(columns, keys, strict=True):
            column.append(key)
        titles.append(record.fields.get("title", [""])[0][:40])
    for run in (run for column in columns for run in find_equal_runs(column)):
        width = len(run)
        if width > MAX_BLOCK:
            run, width = sorted(run, key=titles.__getitem__), NEIGHBOURS + 1
        for place, one in enumerate(run):
            pairs.extend(min(one, other) * len(titles) + max(one, other) for other in run[place + 1 : place + width])
    distinct = np.unique(np.frombuffer(pairs, np.int64))
    del pairs
    for start in range(0, len(distinct), PART):
        yield from (divmod(pair, len(titles)) for pair in distinct[start : start + PART].tolist())


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


MERGE = 0.8  # probability from which two records are merged
REVIEW = 0.1  # probability from which a person should look
CONTRADICTION = -4.0  # log odds of two records that must not come into one group by way of others
MAX_CHECKED = 12  # records of a group that those of another are compared with
HELD = 1 << 16  # records whose compared form is held


@dataclass(frozen=True, slots=True)
class Deduplication:
    """Records as read, and by position: groups of one paper, preprints with their articles, pairs left for a person.

    decided: how many pairs a person had decided on. containers: how many ids are of no paper (`find_containers`).
    """

    records: Sequence[Paper]
    groups: list[list[int]]
    versions: list[Pair]
    uncertain: list[ComparedPair]
    decided: int
    containers: int

    @property
    def removed(self) -> int:
        """Count the records that became part of another one."""
        return sum(len(group) - 1 for group in self.groups)

    def count_sources(self) -> list[dict[str, Any]]:
        """Count of each file the records, and those removed as duplicates: the first of a group is retained."""
        files = [paper.place.file if paper.place else "" for paper in self.records]
        removed = Counter(files[position] for group in self.groups for position in group[1:])
        return [{"file": file, "records": n, "removed": removed[file]} for file, n in Counter(files).items()]

    def papers(self) -> Iterator[tuple[Paper, list[str]]]:
        """Yield each paper, merged from its records, with the ids of its preprints or its articles."""
        groups = {position: group for group in self.groups for position in group}
        versions: dict[int, dict[str, None]] = {}
        for pair in self.versions:
            firsts = [groups.get(position, [position])[0] for position in pair]
            for one, other in (firsts, firsts[::-1]):
                if one != other:
                    versions.setdefault(one, {})[self.records[other].id] = None
        for position, paper in enumerate(self.records):
            group = groups.get(position, [position])
            if group[0] == position:
                merged = _merge([self.records[member] for member in group]) if group[1:] else paper
                yield merged, list(versions.get(position, ()))

    def to_json(self) -> dict[str, Any]:
        """Return counts, groups and pairs as JSON values; a record is named by its file and number."""

        def name(*positions: int) -> list[str]:
            return [name_record(self.records[position]) for position in positions]

        counts = {"records": len(self.records), "removed": self.removed, "papers": len(self.records) - self.removed}
        counts |= {"preprint_pairs": len(self.versions), "uncertain": len(self.uncertain), "decided": self.decided}
        counts["containers"] = self.containers
        return {
            "counts": counts,
            "sources": self.count_sources(),
            "groups": [name(*group) for group in self.groups],
            "preprints": [name(*pair) for pair in self.versions],
            "uncertain": [[*name(*pair.positions), round(pair.probability, 3)] for pair in self.uncertain],
        }


def dedupe(
    papers: Iterable[Paper],
    *,
    review: Path | None = None,
    merge_preprints: bool = False,
    threshold: float = MERGE,
    weights: Weights = WEIGHTS,
    progress: Progress = show_nothing,
) -> Deduplication:
    """Group the records of one paper; all are held in memory. `Deduplication.papers` merges them.

    review: a file of uncertain pairs; decisions in it count, and it is written again with the pairs that remain.
    threshold: the probability of a merge. Raises InputError for decisions that cannot be followed; the file stays.

    >>> one, other = Paper(id="1", title="On the frogs of Ohio", year=1990), Paper(id="2", title="Toads")
    >>> dedupe([one, other]).removed
    0
    """
    records, by_probability = list(papers), attrgetter("probability")
    cited = lru_cache(maxsize=HELD)(lambda position: cite(records[position]))
    reviewed = read_review(review, records) if review else Review()
    versions, sure, unsure = list[Pair](), list[ComparedPair](), list[ComparedPair]()
    containers = set[int]()
    for pair in _compare_candidates(len(records), cited, weights, progress):
        if pair.positions in reviewed.decisions:
            continue
        one, other = map(cited, pair.positions)
        if one.identity.contradicts(other.identity):
            containers |= one.identity.list_shared_ids(other.identity)
        if is_version := _is_version(one, other, pair.levels):
            versions.append(pair.positions)
        if merge_preprints if is_version else pair.probability >= threshold and is_sufficient(pair.levels):
            sure.append(pair)
        elif pair.probability >= REVIEW and not is_version:
            unsure.append(pair)
    sure.sort(key=by_probability, reverse=True)
    groups = _join(sure, reviewed.decisions, lambda one, other: weigh(compare(cited(one), cited(other)), weights))
    apart = (pair for pair in sure + unsure if pair.positions[1] not in groups.get(pair.positions[0], ()))
    uncertain = sorted(apart, key=by_probability, reverse=True)
    if review:
        write_review(review, reviewed, uncertain, records)
    distinct = {id(group): sorted(group) for group in groups.values()}
    groups_of = sorted(distinct.values())
    return Deduplication(records, groups_of, versions, uncertain, len(reviewed.decisions), len(containers))


def _compare_candidates(
    count: int, cited: Callable[[int], Citation], weights: Weights, progress: Progress
) -> Iterator[ComparedPair]:
    def index() -> Iterator[Citation]:
        for position in range(count):
            yield cited(position)
            progress("indexing", "records", position + 1, count)

    for one, other in find_candidates(index()):
        progress("comparing", "records", one + 1, count)
        levels = compare(cited(one), cited(other))
        yield ComparedPair((one, other), 1 / (1 + exp(-weigh(levels, weights))), levels)


def _is_version(one: Citation, other: Citation, levels: Mapping[str, str]) -> bool:
    """Return whether one record is a preprint and the other its article; where they are printed says nothing."""
    if one.identity.preprint == other.identity.preprint or not levels.get("authors", "").startswith("first"):
        return False
    years = one.identity.year, other.identity.year
    exact = levels.get("title") in ("equal", "equal, short", "spelling", "part", "more words")
    near = 0 in years or abs(years[0] - years[1]) <= MAX_YEARS_APART
    return exact and near and levels.get("abstract") != "differs" and not {"part", "numbers"} & levels.keys()


def _join(
    pairs: Iterable[ComparedPair], decisions: Mapping[Pair, bool], weigh_pair: Callable[[int, int], float]
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
        if pair in decisions or not any(two in decisions or weigh_pair(*two) < CONTRADICTION for two in checked):
            join_groups(groups, *pair)
    return groups


def _merge(records: Sequence[Paper]) -> Paper:
    """Return the merged record; volume, issue, pages and year are those of one record, which has most of them."""
    merged = merge_records(records)
    printed = max(records, key=lambda paper: (bool(paper.volume), bool(paper.pages), bool(paper.issue)))
    year = printed.year if printed.volume and printed.year else merged.year
    return replace(merged, year=year, volume=printed.volume, issue=printed.issue, pages=printed.pages)

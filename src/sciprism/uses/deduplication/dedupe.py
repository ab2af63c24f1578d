"""Group the records of one paper: candidate pairs, their probabilities, and groups without contradictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

from sciprism.papers.merging import merge_records
from sciprism.papers.records import Paper
from sciprism.uses.deduplication.candidates import CandidateFinder
from sciprism.uses.deduplication.comparison import WEIGHTS, Citation, Weights, cite, compare, is_sufficient, weigh
from sciprism.uses.deduplication.review import ComparedPair, Pair, Review, name_record, read_review, write_review

MERGE = 0.8  # probability from which two records are merged
REVIEW = 0.1  # probability from which a person should look
CONTRADICTION = -4.0  # log odds of two records that must not come into one group by way of others
MAX_CHECKED = 12  # records of a group that those of another are compared with
VERSION_YEARS = 5  # between a preprint and its article
Progress = Callable[[str, str, int, int], object]  # of the work, the unit, how many are done, of how many
HELD = 1 << 16  # records whose compared form is held


@dataclass(slots=True)
class Deduplication:
    """Records as read, and by position: groups of one paper, preprints with their articles, pairs left for a person.

    decided: how many pairs a person had decided on.
    """

    records: Sequence[Paper]
    groups: list[list[int]] = field(default_factory=list)
    versions: list[Pair] = field(default_factory=list)
    uncertain: list[ComparedPair] = field(default_factory=list)
    decided: int = 0

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
            one, other = (groups.get(position, [position])[0] for position in pair)
            if one != other:
                versions.setdefault(one, {})[self.records[other].id] = None
                versions.setdefault(other, {})[self.records[one].id] = None
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
        return {
            "counts": counts,
            "sources": self.count_sources(),
            "groups": [name(*group) for group in self.groups],
            "preprints": [name(*pair) for pair in self.versions],
            "uncertain": [[*name(pair.one, pair.other), round(pair.probability, 3)] for pair in self.uncertain],
        }


def dedupe(
    papers: Iterable[Paper],
    *,
    review: Path | None = None,
    threshold: float = MERGE,
    merge_preprints: bool = False,
    weights: Weights = WEIGHTS,
    progress: Progress | None = None,
) -> Deduplication:
    """Group the records of one paper; all are held in memory. `Deduplication.papers` merges them.

    review: a file of uncertain pairs; decisions in it count, and it is written again with the pairs that remain.
    threshold: probability from which two records are merged. Raises InputError for decisions that cannot be followed;
    the file stays as it was.

    >>> one, other = Paper(id="1", title="On the frogs of Ohio", year=1990), Paper(id="2", title="Toads")
    >>> dedupe([one, other]).removed
    0
    """
    result, sure = Deduplication(list(papers)), list[ComparedPair]()
    cited = lru_cache(maxsize=HELD)(lambda position: cite(result.records[position]))
    reviewed = read_review(review, result.records) if review else Review()
    for pair in _compare_candidates(len(result.records), cited, weights, progress):
        if (pair.one, pair.other) in reviewed.decisions:
            continue
        if is_version := _is_version(cited(pair.one), cited(pair.other), pair.levels):
            result.versions.append((pair.one, pair.other))
        if merge_preprints if is_version else pair.probability >= threshold and is_sufficient(pair.levels):
            sure.append(pair)
        elif pair.probability >= REVIEW and not is_version:
            result.uncertain.append(pair)
    groups = _ConsistentGroups(lambda one, other: weigh(compare(cited(one), cited(other)), weights), reviewed.decisions)
    result.uncertain += [pair for pair in sorted(sure, key=_rank) if not groups.join(pair.one, pair.other)]
    result.groups, result.decided = groups.list_all(), len(reviewed.decisions)
    result.uncertain = sorted(
        (p for p in result.uncertain if groups.find(p.one) is not groups.find(p.other)), key=_rank
    )
    if review:
        write_review(review, reviewed, result.uncertain, result.records)
    return result


def _compare_candidates(
    count: int, cited: Callable[[int], Citation], weights: Weights, progress: Progress | None
) -> Iterator[ComparedPair]:
    finder, show = CandidateFinder(), progress or (lambda *_: None)
    for position in range(count):
        finder.add(cited(position))
        show("indexing", "records", position + 1, count)
    for one, other in finder.find():
        show("comparing", "records", one + 1, count)
        levels = compare(cited(one), cited(other))
        yield ComparedPair(one, other, 1 / (1 + exp(-weigh(levels, weights))), levels)


def _rank(pair: ComparedPair) -> tuple[float, int, int]:
    return -pair.probability, pair.one, pair.other


def _is_version(one: Citation, other: Citation, levels: Mapping[str, str]) -> bool:
    """Return whether one record is a preprint and the other its article; where they are printed says nothing."""
    if one.identity.preprint == other.identity.preprint or not levels.get("authors", "").startswith("first"):
        return False
    years = one.identity.year, other.identity.year
    exact = levels.get("title") in ("equal", "equal, short", "spelling", "part", "more words")
    near = 0 in years or abs(years[0] - years[1]) <= VERSION_YEARS
    return exact and near and levels.get("abstract") != "differs" and not {"part", "numbers"} & levels.keys()


def _merge(records: Sequence[Paper]) -> Paper:
    """Return the merged record; volume, issue, pages and year are those of one record, which has most of them."""
    merged = merge_records(records)
    printed = max(records, key=lambda paper: (bool(paper.volume), bool(paper.pages), bool(paper.issue)))
    year = printed.year if printed.volume and printed.year else merged.year
    return replace(merged, year=year, volume=printed.volume, issue=printed.issue, pages=printed.pages)


class _ConsistentGroups:
    """Joins records pair by pair; first those that a person calls duplicates. All members share a list."""

    def __init__(self, weigh_pair: Callable[[int, int], float], decisions: Mapping[Pair, bool]) -> None:
        self._weigh_pair, self._decisions = weigh_pair, decisions
        self._groups: dict[int, list[int]] = {}
        for pair, same in sorted(decisions.items()):
            if same:
                self._unite(*pair)

    def find(self, position: int) -> list[int]:
        """Return the group of a record."""
        return self._groups.get(position) or [position]

    def list_all(self) -> list[list[int]]:
        """Return the groups in the order of their first members."""
        return sorted({id(group): sorted(group) for group in self._groups.values()}.values())

    def join(self, one: int, other: int) -> bool:
        """Join the groups of two records, unless members contradict each other; return whether they are one."""
        ones, others = self.find(one), self.find(other)
        pairs = product(ones[:MAX_CHECKED], others[:MAX_CHECKED]) if ones is not others else ()
        if any(self._contradict(min(pair), max(pair)) for pair in pairs if set(pair) != {one, other}):
            return False
        self._unite(one, other)
        return True

    def _contradict(self, one: int, other: int) -> bool:
        if (one, other) in self._decisions:
            return not self._decisions[one, other]
        return self._weigh_pair(one, other) < CONTRADICTION

    def _unite(self, one: int, other: int) -> None:
        if (group := self.find(one)) is not (more := self.find(other)):
            group = group + more
            self._groups |= dict.fromkeys(group, group)

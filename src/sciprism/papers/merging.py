"""Merge the records of one paper that several files have: the fullest counts, and the others fill what it lacks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice

from sciprism.papers.identity import (
    MAX_WORKS,
    PaperIdentity,
    find_equal_runs,
    hash_text,
    identify,
    is_same_paper,
    join_groups,
    list_ids,
    normalize_words,
)
from sciprism.papers.records import Deletion, Paper

SYSTEMS = ("doi", "pmid", "pmcid", "arxiv")
"""Systems whose id shows that records of two files are of one paper, whatever their own ids."""
FULLER = 1.25  # an abstract with this many times the words of another is fuller; else the record with more fields is
FIELDS = ("title", "abstract", "authors", "venue", "year", "fields", "keywords", "references")
SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class MergedPaper:
    """A paper of several records: its id, their ids and places, and the fields that others than the fullest gave."""

    id: str
    records: tuple[str, ...]
    places: tuple[str, ...]
    filled: tuple[str, ...]


class MergedRecords:
    """Merges the records of one paper. An input is read for `add`, again for `collect` if that is needed, then `merge`.

    Records are of one paper where they have one id and `is_same_paper` says so, in one file only if no text of theirs
    contradicts; or where they are of two files and share an id of `SYSTEMS`. The paper is at the place of its first
    record, and has its id. Memory: 48 bytes a record, and the records whose ids repeat.

    papers: those of several records. groups: position of a record -> a number that all have that may be of its paper,
    after `find_repeated`. completed: position of a paper's first record -> the record of all. absorbed:
    positions of the others.
    """

    def __init__(self) -> None:
        self.papers: list[MergedPaper] = []
        self._keys = {name: array("Q") for name in ("id", *SYSTEMS)}
        self._contents = array("Q")
        self.groups: dict[int, int] = {}
        self.completed: dict[int, Paper] = {}
        self.absorbed: set[int] = set()

    def add(self, paper: Paper, content: int | None = None) -> None:
        """Add the next record of the input. content: a hash of it, where the paper has nothing but its ids."""
        ids = list_ids(paper)
        self._keys["id"].append(hash_text(paper.id))
        for system in SYSTEMS:
            self._keys[system].append(hash_text(ids.get(system, "")))
        if content is None:
            content = hash_text("\n".join(map(str, (paper.id, paper.ids, *(getattr(paper, name) for name in FIELDS)))))
        self._contents.append(content)

    def find_repeated(self) -> bool:
        """Return whether records share an id and differ; then `collect` must see all again."""
        groups: dict[int, list[int]] = {}
        for key in self._keys.values():
            for run in find_equal_runs(key):
                if len({self._contents[position] for position in run}) > 1:
                    for position in run:
                        join_groups(groups, run[0], position)
        self.groups = {position: group[0] for position, group in groups.items()}
        self._keys, self._contents = {}, array("Q")
        return bool(self.groups)

    def collect(self, records: Iterable[Paper | Deletion]) -> None:
        """Read all records again, and merge those of one paper."""
        papers = enumerate(record for record in records if isinstance(record, Paper))
        self.compare({position: paper for position, paper in papers if position in self.groups})

    def compare(self, repeated: Mapping[int, Paper]) -> None:
        """Merge the records of one paper. repeated: position -> record of all in some `groups`, ascending."""
        members: dict[int, dict[int, Paper]] = {}
        for position, paper in repeated.items():
            members.setdefault(self.groups[position], {})[position] = paper
        for group in members.values():
            for first, *others in _cluster(group):
                if others:
                    papers = [group[position] for position in (first, *others)]
                    self.completed[first] = merge_records(papers)
                    self.absorbed.update(others)
                    self.papers.append(_describe(self.completed[first], papers))

    def merge(self, records: Iterable[Paper | Deletion]) -> Iterator[Paper | Deletion]:
        """Yield the records of the input, those of one paper as one."""
        position = -1
        for record in records:
            position += isinstance(record, Paper)
            if isinstance(record, Deletion):
                yield record
            elif position not in self.absorbed:
                yield self.completed.get(position, record)


def merge_records(records: Sequence[Paper]) -> Paper:
    """Return the fullest of several records of one paper, the first of equals, completed with the others' fields.

    It has the id of the first record. Of two ids of one system, that of an article goes before that of a preprint.
    """
    fullest = _find_fullest(records)
    others = [record for record in records if record is not fullest]
    values = {name: next(filter(None, (getattr(paper, name) for paper in others)), None) for name in FIELDS}
    filled = {name: value for name, value in values.items() if value and not getattr(fullest, name)}
    ids: dict[str, str] = {}
    for paper in sorted([fullest, *others], key=lambda paper: identify(paper).preprint):
        ids |= {system: value for system, value in paper.ids.items() if system not in ids}
    places = dict.fromkeys(place for paper in [fullest, *others] if paper.place for place in paper.place.list_all())
    place = fullest.place and replace(fullest.place, others=tuple(places)[1:])
    return replace(fullest, id=records[0].id, ids=ids, place=place, **filled)


def describe_differences(paper: Paper, other: Paper) -> str:
    """Return what differs between two records, field by field, with both values; "" where nothing does.

    >>> describe_differences(Paper(id="1", title="On frogs", year=2020), Paper(id="1", title="On toads", year=2020))
    "title 'On frogs', not 'On toads'"
    """
    pairs = {name: (getattr(paper, name), getattr(other, name)) for name in FIELDS[:5]}
    pairs |= {system: (paper.ids.get(system), other.ids.get(system)) for system in {**paper.ids, **other.ids}}
    return "; ".join(
        f"{name} {' not '.join(_show(*values))}" for name, values in pairs.items() if values[0] != values[1]
    )


def _show(one: object, other: object) -> tuple[str, str]:
    """Return two values, of long texts the part where they begin to differ."""
    texts = ["; ".join(value) if isinstance(value, tuple) else str(value or "") for value in (one, other)]
    equal = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, equal - SHOWN // 2) if max(map(len, texts)) > SHOWN else 0

    def cut(text: str) -> str:
        part = text[start : start + SHOWN]
        return repr("…" * bool(start) + part + "…" * (start + SHOWN < len(text))) if text else "none"

    return cut(texts[0]) + ",", cut(texts[1])


def _cluster(group: Mapping[int, Paper]) -> list[list[int]]:
    """Divide records that share ids into those of one paper."""
    clusters: list[list[int]] = []
    identities = {position: identify(paper) for position, paper in group.items()}
    for position, paper in group.items():
        for cluster in islice(clusters, MAX_WORKS):
            related = [_relate(identities[position], paper, identities[member], group[member]) for member in cluster]
            if any(related) and None not in related:
                cluster.append(position)
                break
        else:
            clusters.append([position])
    return clusters


def _relate(one: PaperIdentity, paper: Paper, other: PaperIdentity, record: Paper) -> bool | None:
    """Return whether two records are shown to be of one paper; None where they must not be."""
    same_file = one.file == other.file
    if paper.id == record.id:
        same = is_same_paper(one, other) and not (same_file and _contradict(paper, record))
        return same or None
    if same_file:
        return None
    ids, others = list_ids(paper), list_ids(record)
    return any(system in ids and ids[system] == others.get(system) for system in SYSTEMS)


def _contradict(paper: Paper, other: Paper) -> bool:
    """Return whether two records have another title or abstract; case and punctuation do not count."""
    texts = ((paper.title, other.title), (paper.abstract, other.abstract))
    return any(one and two and normalize_words(one) != normalize_words(two) for one, two in texts)


def _find_fullest(records: Sequence[Paper]) -> Paper:
    return reduce(lambda fullest, record: record if _is_fuller(record, fullest) else fullest, records)


def _is_fuller(paper: Paper, other: Paper) -> bool:
    words = [len(normalize_words(record.abstract)) for record in (paper, other)]
    if words[0] > FULLER * words[1] or words[1] > FULLER * words[0]:
        return words[0] > words[1]
    filled = [sum(bool(getattr(record, name)) for name in FIELDS) + len(record.ids) for record in (paper, other)]
    return filled[0] > filled[1]


def _describe(merged: Paper, records: Sequence[Paper]) -> MergedPaper:
    fullest = _find_fullest(records)
    filled = tuple(name for name in FIELDS if getattr(merged, name) and not getattr(fullest, name))
    places = tuple(str(paper.place or "") for paper in records)
    return MergedPaper(merged.id, tuple(paper.id for paper in records), places, filled)

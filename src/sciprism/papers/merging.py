"""Merge the records of one paper that several files have: the fullest counts, and the others fill what it lacks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice

import sciprism.papers.identity as identity
from sciprism.papers.cleaning import derive_id
from sciprism.papers.records import PAPER_ID_SYSTEMS, Deletion, Paper

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
    contradicts; or where they are of two files and share an id of `PAPER_ID_SYSTEMS`. The paper is at the place of its
    first record, and has its id. Memory: 64 bytes a record, and the records whose ids repeat.

    papers: those of several records. groups: position of a record -> a number that all have that may be of its paper,
    after `find_repeated`. completed: position of a paper's first record -> the record of all. absorbed:
    positions of the others. containers: how many ids are of no paper (`find_containers`): records that have such a one
    in place of their own id get another.
    """

    def __init__(self) -> None:
        self.papers: list[MergedPaper] = []
        self.containers = 0
        self._keys = {name: array("Q") for name in ("id", *PAPER_ID_SYSTEMS)}
        self._contents = array("Q")
        self.groups: dict[int, int] = {}
        self.completed: dict[int, Paper] = {}
        self.absorbed: set[int] = set()

    def add(self, paper: Paper, content: int | None = None) -> None:
        """Add the next record of the input. content: a hash of it, where the paper has nothing but its ids."""
        ids = identity.list_ids(paper) | {"id": paper.id}
        for name, keys in self._keys.items():
            keys.append(identity.hash_text(ids.get(name, "")))
        if content is None:
            fields = (getattr(paper, name) for name in FIELDS)
            content = identity.hash_text("\n".join(map(str, (paper.id, paper.ids, *fields))))
        self._contents.append(content)

    def find_repeated(self) -> bool:
        """Return whether records share an id and differ; then `collect` must see all again."""
        groups: dict[int, list[int]] = {}
        for key in self._keys.values():
            for run in identity.find_equal_runs(key):
                if len({self._contents[position] for position in run}) > 1:
                    for position in run:
                        identity.join_groups(groups, run[0], position)
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
            identities = {position: identity.identify(paper) for position, paper in group.items()}
            containers = identity.find_containers(identities.values())
            self.containers += len(containers)
            for position, paper in group.items() if containers else ():
                identities[position] = identities[position].without(containers)
                if not containers.isdisjoint(identity.identify(Paper(id=paper.id)).ids):
                    group[position] = self.completed[position] = replace(paper, id=derive_id(replace(paper, ids={})))
            for first, *others in _cluster(group, identities):
                if others:
                    papers = [group[position] for position in (first, *others)]
                    merged, fullest = merge_records(papers), reduce(_choose_fuller, papers)
                    self.completed[first] = merged
                    self.absorbed.update(others)
                    filled = tuple(name for name in FIELDS if getattr(merged, name) and not getattr(fullest, name))
                    places = tuple(str(paper.place or "") for paper in papers)
                    self.papers.append(MergedPaper(merged.id, tuple(paper.id for paper in papers), places, filled))

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
    fullest = reduce(_choose_fuller, records)
    others = [record for record in records if record is not fullest]
    values = {name: next(filter(None, (getattr(paper, name) for paper in others)), None) for name in FIELDS}
    filled = {name: value for name, value in values.items() if value and not getattr(fullest, name)}
    ids: dict[str, str] = {}
    for paper in sorted([fullest, *others], key=lambda paper: identity.identify(paper).preprint):
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
        f"{name} {', not '.join(_show(*values))}" for name, values in pairs.items() if values[0] != values[1]
    )


def _show(one: object, other: object) -> Iterator[str]:
    """Yield two values, of long texts the part where they begin to differ."""
    texts = ["; ".join(value) if isinstance(value, tuple) else str(value or "") for value in (one, other)]
    equal = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, equal - SHOWN // 2) if max(map(len, texts)) > SHOWN else 0
    for text in texts:
        part, cut = text[start : start + SHOWN], start + SHOWN < len(text)
        yield repr("…" * bool(start) + part + "…" * cut) if text else "none"


def _cluster(group: Mapping[int, Paper], identities: Mapping[int, identity.PaperIdentity]) -> list[list[int]]:
    """Divide records that share ids into those of one paper."""
    clusters: list[list[int]] = []
    for position, paper in group.items():
        for cluster in islice(clusters, identity.MAX_WORKS):
            related = [_relate(identities[position], paper, identities[member], group[member]) for member in cluster]
            if any(related) and None not in related:
                cluster.append(position)
                break
        else:
            clusters.append([position])
    return clusters


def _relate(one: identity.PaperIdentity, paper: Paper, other: identity.PaperIdentity, record: Paper) -> bool | None:
    """Return whether two records are shown to be of one paper; None where they must not be."""
    same_file = one.file == other.file
    if paper.id != record.id:
        return None if same_file else one.shares_id(other)
    texts = ((paper.title, record.title), (paper.abstract, record.abstract))
    contradict = any(a and b and identity.normalize_words(a) != identity.normalize_words(b) for a, b in texts)
    return (identity.is_same_paper(one, other) and not (same_file and contradict)) or None


def _choose_fuller(other: Paper, paper: Paper) -> Paper:
    """Return the fuller of two records, the first of equals."""
    words = [len(identity.normalize_words(record.abstract)) for record in (paper, other)]
    filled = [sum(bool(getattr(record, name)) for name in FIELDS) + len(record.ids) for record in (paper, other)]
    by = words if max(words) > FULLER * min(words) else filled
    return paper if by[0] > by[1] else other

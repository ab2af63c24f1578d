"""One split for all open data: a paper that is in any test is a test paper everywhere, else dev, else train.

Each data set gives its papers to train, dev or test (`datasets/sources.py`). Papers are joined over all sets
by id, DOI, PMID, arXiv id and title, and the strongest part wins. Whatever trains on these data, the text of
a tokenizer or of masked language modelling included, takes train papers and no others.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from sciprism.datasets import sources
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.sources import BY_DATA, DOI, PARTS, SOURCES, UNNAMED, Part, Record
from sciprism.files import cache_folder
from sciprism.papers import duplicates
from sciprism.papers.duplicates import HEADINGS, SHORT_TITLE, WORD
from sciprism.papers.records import Paper

OPENING = 8
"""Words of the abstract that stand beside a title too short to tell papers apart."""
LONGEST = 500
"""Characters of a title, or of a text without one, that are compared."""
_SYSTEM_ID = re.compile(r"(doi|pmid|pmcid|arxiv|s2|openalex|sha):(.+)", re.IGNORECASE)
_ARXIV_VERSION = re.compile(r"v\d+$")
_MARKS = {code: " " for code in range(128) if not chr(code).isalnum()}


def names(paper: Paper, data: str = "") -> list[str]:
    """Return all names by which a paper is known: its id in a data set, ids of other systems, its title.

    A title counts without case, accents and spaces; one of fewer than 5 words only with the opening of the
    abstract, and a mere heading not at all. A text without a title goes by the text itself.
    """
    found = [f"{data}:{paper.id}"] if data and paper.id != UNNAMED else []
    for system, value in [*paper.ids.items(), *_systems_in(paper.id)]:
        name = value.lower()
        found.append(f"{system}:{_ARXIV_VERSION.sub('', name) if system == 'arxiv' else name}")
    words = _words((paper.title or paper.abstract)[:LONGEST])
    joined = "".join(words)
    if len(words) >= SHORT_TITLE:
        found.append(f"title:{joined}")
    elif words and paper.abstract and joined not in HEADINGS:
        found.append(f"title:{joined} {''.join(_words(paper.abstract[:LONGEST])[:OPENING])}")
    return found


def _systems_in(name: str) -> list[tuple[str, str]]:
    found = _SYSTEM_ID.fullmatch(name)
    if found:
        return [(found[1].lower(), found[2])]
    return [("doi", name)] if DOI.fullmatch(name) else []


def _words(text: str) -> list[str]:
    if text.isascii():  # the same words, three times faster
        return text.lower().translate(_MARKS).split()
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return WORD.findall(text.casefold())


@dataclass(frozen=True, slots=True)
class Leak:
    """A paper that stands in a test: its id, and the data sets whose test holds it."""

    id: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The part of every paper of the open data.

    counts: data set -> what became of its papers ("train", "dev", "test", or "train, now test" where another
    set's test took them), in records that speak of a paper. missing: data sets that are not there. tests:
    data sets that are. codes: hash of a name -> rank of the part + 4 * bits of the tests that have the paper.
    """

    counts: Mapping[str, Mapping[str, int]]
    missing: tuple[str, ...]
    tests: tuple[str, ...]
    codes: Mapping[int, int]

    @classmethod
    def build(cls, home: DataRoot) -> SplitTable:
        """Read every data set that is there and join its papers."""
        there = [source for source in SOURCES if _is_there(home.folder, source.data)]
        joined, claims = _Joined(), []
        for bit, source in enumerate(there):
            places, parts = array("l"), bytearray()
            for _, paper, part in source.read(home):
                places.append(joined.add(names(paper, source.data), PARTS.index(part), 1 << bit))
                parts.append(PARTS.index(part))
            claims.append((source.data, places, parts))
        counts = {data: dict(_became(joined, places, parts)) for data, places, parts in claims}
        missing = tuple(source.data for source in SOURCES if source not in there)
        return cls(counts, missing, tuple(source.data for source in there), joined.codes())

    @classmethod
    def of(cls, home: DataRoot) -> SplitTable:
        """Return the split of the data at a home: built once, kept in the cache while no file changes."""
        return _table_of(home.folder)

    def part(self, *keys: str) -> Part | None:
        """Return the part of the paper that has any of these names (see `names`); None if none is known."""
        known = [self.codes[key] & 3 for key in map(_hash, keys) if key in self.codes]
        return PARTS[max(known)] if known else None

    def leaks(self, papers: Iterable[Paper]) -> Iterator[Leak]:
        """Yield those of the papers that stand in a test, and so may train nothing."""
        for paper in papers:
            if sets := self.tests_of(*names(paper)):
                yield Leak(paper.id, sets)

    def tests_of(self, *keys: str) -> tuple[str, ...]:
        """Return the data sets whose test holds the paper with any of these names (see `names`)."""
        bits = 0
        for key in keys:
            bits |= self.codes.get(_hash(key), 0) >> 2
        return tuple(data for bit, data in enumerate(self.tests) if bits >> bit & 1)


@dataclass(slots=True)
class _Joined:
    """Names joined into papers (union-find over 64-bit hashes of names), each with its strongest part."""

    of_name: dict[int, int] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    parts: bytearray = field(default_factory=bytearray)
    tested: list[int] = field(default_factory=list)

    def add(self, keys: Iterable[str], part: int, bit: int) -> int:
        """Take in one paper; return its place."""
        hashes = [_hash(key) for key in keys]
        known = {self._root(self.of_name[key]) for key in hashes if key in self.of_name}
        place = min(known, default=len(self.parents))
        if not known:
            self.parents.append(place)
            self.parts.append(part)
            self.tested.append(0)
        for other in known - {place}:
            self.parents[other] = place
            self.parts[place] = max(self.parts[place], self.parts[other])
            self.tested[place] |= self.tested[other]
        self.parts[place] = max(self.parts[place], part)
        self.tested[place] |= bit if PARTS[part] == "test" else 0
        self.of_name.update(dict.fromkeys(hashes, place))
        return place

    def part_of(self, place: int) -> int:
        """Return the part of the paper that was taken in at a place."""
        return self.parts[self._root(place)]

    def codes(self) -> dict[int, int]:
        """Return hash of a name -> rank of the part + 4 * bits of the tests."""
        each = [
            self.parts[root] + 4 * self.tested[root] for root in map(self._root, range(len(self.parents)))
        ]
        return {key: each[place] for key, place in self.of_name.items()}

    def _root(self, place: int) -> int:
        while (parent := self.parents[place]) != place:
            self.parents[place] = place = self.parents[parent]
        return place


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest())


def _became(joined: _Joined, places: array[int], parts: bytearray) -> Counter[str]:
    counts: Counter[str] = Counter()
    for place, own in zip(places, parts, strict=True):
        now = joined.part_of(place)
        counts[PARTS[own] if own == now else f"{PARTS[own]}, now {PARTS[now]}"] += 1
    return counts


@lru_cache(maxsize=2)
def _table_of(folder: Path | None) -> SplitTable:
    kept = cache_folder() / f"split-{_state(folder)}.npz"
    if kept.exists():
        with np.load(kept) as stored:
            facts = json.loads(str(stored["facts"]))
            codes = dict(zip(stored["names"].tolist(), stored["codes"].tolist(), strict=True))
        return SplitTable(facts["counts"], tuple(facts["missing"]), tuple(facts["tests"]), codes)
    table = SplitTable.build(DataRoot(folder))
    _keep(table, kept)
    return table


def _keep(table: SplitTable, path: Path) -> None:
    """Write a table for the next run, where the cache folder can be written."""
    facts = {"counts": table.counts, "missing": table.missing, "tests": table.tests}
    known, codes = (np.array(list(part), np.uint64) for part in (table.codes.keys(), table.codes.values()))
    partial = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(partial, facts=np.array(json.dumps(facts)), names=known, codes=codes)
        partial.replace(path)
    except OSError:
        return


def _state(folder: Path | None) -> str:
    """Return a hash of all files that the split is made of, by name, size and time, and of its rules."""
    rules = (Path(__file__), Path(sources.__file__), Path(duplicates.__file__))
    state = [path.read_text("utf-8") for path in rules]
    for source in SOURCES:
        if _is_there(folder, source.data):
            for path in sorted(((folder or Path()) / source.data).glob(source.files)):
                state.append(f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}")
    return blake2b("\n".join(state).encode(), digest_size=12).hexdigest()


def _is_there(folder: Path | None, data: str) -> bool:
    return ((folder or Path()) / data).is_dir()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record, its paper, the part that its own data set gives it, and its part over all data sets."""

    row: Record
    paper: Paper
    own: Part
    part: Part


def entries(home: DataRoot, data: str) -> list[Entry]:
    """Return the papers of a data set in the order of its files, each with both parts.

    A paper whose record has no id gets the data set's name and its number.
    """
    table = SplitTable.of(home)
    found = []
    for number, (row, paper, own) in enumerate(BY_DATA[data].read(home)):
        if paper.id == UNNAMED:
            part = table.part(*names(paper)) or own
            paper = replace(paper, id=f"{data}#{number}")
        else:
            part = table.part(f"{data}:{paper.id}") or own
        found.append(Entry(row=row, paper=paper, own=own, part=part))
    return found

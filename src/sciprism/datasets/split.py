"""One split of all open data: a paper of any test set is a test paper everywhere, else dev, else train.

Each data set assigns its papers to train, dev or test (`datasets/open_data.py`). Papers are merged over all
data sets by id, DOI, PMID, arXiv id and title; test wins over dev, dev over train. All training on these
data, of tokenizers and masked language models too, uses train papers only.
"""

from __future__ import annotations

import json
import os
import re
import warnings
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from sciprism.datasets import open_data
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import DOI, OPEN_DATA_BY_NAME, OPEN_DATA_SETS, PARTS, UNNAMED, Part, Record
from sciprism.errors import DamagedCacheWarning, InputError
from sciprism.files import cache_folder, write_atomically
from sciprism.papers import identity
from sciprism.papers.identity import GENERIC_TITLES, MIN_TITLE_WORDS, normalize_words
from sciprism.papers.records import Paper
from sciprism.seeding import random_bits

OPENING_WORDS = 8  # words of the abstract that complete a title too short to identify a paper
MAX_CHARACTERS = 500  # characters of a title, or of a text without one, that are compared
_SYSTEM_ID = re.compile(r"(doi|pmid|pmcid|arxiv|s2|openalex|sha):(.+)", re.IGNORECASE)
_ARXIV_VERSION = re.compile(r"v\d+$")


def list_paper_keys(paper: Paper, data: str = "") -> list[str]:
    """Return the keys that identify a paper: its id in a data set, ids of other systems, its title.

    Titles are compared without case, accents and spaces; one of fewer than 5 words counts only with the first
    words of the abstract, and a generic heading not at all. A text without a title is its own title.
    """
    keys = [f"{data}:{paper.id}"] if data and paper.id != UNNAMED else []
    systems = list(paper.ids.items())
    if parts := _SYSTEM_ID.fullmatch(paper.id):
        systems.append((parts[1].lower(), parts[2]))
    elif DOI.fullmatch(paper.id):
        systems.append(("doi", paper.id))
    for system, value in systems:
        name = value.lower()
        keys.append(f"{system}:{_ARXIV_VERSION.sub('', name) if system == 'arxiv' else name}")
    words = normalize_words((paper.title or paper.abstract)[:MAX_CHARACTERS])
    joined = "".join(words)
    if len(words) >= MIN_TITLE_WORDS:
        keys.append(f"title:{joined}")
    elif words and paper.abstract and joined not in GENERIC_TITLES:
        keys.append(f"title:{joined} {''.join(normalize_words(paper.abstract[:MAX_CHARACTERS])[:OPENING_WORDS])}")
    return keys


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The part of every paper of the open data.

    counts: data set -> number of its papers by part ("train", "dev", "test", or "train, now test" where
    another data set tests on them). missing: data sets that were not found. tests: data sets that were.
    codes: hash of a key -> rank of the part + 4 * bit mask of the data sets whose test part has the paper.
    """

    counts: Mapping[str, Mapping[str, int]]
    missing: tuple[str, ...]
    tests: tuple[str, ...]
    codes: Mapping[int, int]

    @classmethod
    def build(cls, data_root: DataRoot) -> SplitTable:
        """Read every data set that exists and merge their papers."""
        present = [source for source in OPEN_DATA_SETS if _exists(data_root.folder, source.data)]
        union, assigned = _PaperUnion(), []
        for bit, source in enumerate(present):
            nodes, parts = array("l"), bytearray()
            for _, paper, part in source.read(data_root):
                nodes.append(union.add(list_paper_keys(paper, source.data), PARTS.index(part), 1 << bit))
                parts.append(PARTS.index(part))
            assigned.append((source.data, nodes, parts))
        counts: dict[str, dict[str, int]] = {}
        for data, nodes, ranks in assigned:
            pairs = ((PARTS[rank], PARTS[union.part_of(node)]) for node, rank in zip(nodes, ranks, strict=True))
            counts[data] = dict(Counter(own if own == now else f"{own}, now {now}" for own, now in pairs))
        missing = tuple(source.data for source in OPEN_DATA_SETS if source not in present)
        return cls(counts, missing, tuple(source.data for source in present), union.codes())

    @classmethod
    def load(cls, data_root: DataRoot) -> SplitTable:
        """Return the split of the data under a root, from the cache unless a file has changed."""
        return _load_table(data_root.folder)

    def part(self, *keys: str) -> Part | None:
        """Return the part of the paper with any of these keys (`list_paper_keys`); None if none is known."""
        ranks = [self.codes[key] & 3 for key in map(random_bits, keys) if key in self.codes]
        return PARTS[max(ranks)] if ranks else None

    def tests_of(self, *keys: str) -> tuple[str, ...]:
        """Return the data sets whose test part has the paper with any of these keys (`list_paper_keys`)."""
        bits = 0
        for key in keys:
            bits |= self.codes.get(random_bits(key), 0) >> 2
        return tuple(data for bit, data in enumerate(self.tests) if bits >> bit & 1)


@dataclass(slots=True)
class _PaperUnion:
    """Union-find over 64-bit hashes of keys: merges records into papers, each with its strongest part."""

    nodes: dict[int, int] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    parts: bytearray = field(default_factory=bytearray)
    tests: list[int] = field(default_factory=list)

    def add(self, keys: Iterable[str], part: int, bit: int) -> int:
        """Add a paper and return its node."""
        hashes = [random_bits(key) for key in keys]
        roots = {self._root(self.nodes[key]) for key in hashes if key in self.nodes}
        node = min(roots, default=len(self.parents))
        if not roots:
            self.parents.append(node)
            self.parts.append(part)
            self.tests.append(0)
        for other in roots - {node}:
            self.parents[other] = node
            self.parts[node] = max(self.parts[node], self.parts[other])
            self.tests[node] |= self.tests[other]
        self.parts[node] = max(self.parts[node], part)
        self.tests[node] |= bit if PARTS[part] == "test" else 0
        self.nodes.update(dict.fromkeys(hashes, node))
        return node

    def part_of(self, node: int) -> int:
        """Return the rank of a paper's part."""
        return self.parts[self._root(node)]

    def codes(self) -> dict[int, int]:
        """Return hash of a key -> rank of the part + 4 * bit mask of the tests."""
        roots = map(self._root, range(len(self.parents)))
        codes = [self.parts[root] + 4 * self.tests[root] for root in roots]
        return {key: codes[node] for key, node in self.nodes.items()}

    def _root(self, node: int) -> int:
        while (parent := self.parents[node]) != node:
            self.parents[node] = node = self.parents[parent]
        return node


@lru_cache(maxsize=2)
def _load_table(folder: Path | None) -> SplitTable:
    cache = cache_folder() / f"split-{_hash_files(folder)}.npz"
    if cache.exists() and (stored := _read_cache(cache)):
        return stored
    table = SplitTable.build(DataRoot(folder))
    _write_cache(table, cache)
    return table


def _read_cache(path: Path) -> SplitTable | None:
    """Return the table of an earlier run; None, with a warning, where the file is damaged: zip has checksums."""
    try:
        with np.load(path) as stored:
            facts = json.loads(str(stored["facts"]))
            codes = dict(zip(stored["names"].tolist(), stored["codes"].tolist(), strict=True))
        return SplitTable(facts["counts"], tuple(facts["missing"]), tuple(facts["tests"]), codes)
    except (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, BadZipFile, zlib.error):
        warnings.warn(DamagedCacheWarning(f"{path} is damaged; it is made again"), stacklevel=2)
        return None


def _write_cache(table: SplitTable, path: Path) -> None:
    """Write a table for the next run, if the cache folder is writable."""
    facts = {"counts": table.counts, "missing": table.missing, "tests": table.tests}
    hashes, codes = (np.array(list(part), np.uint64) for part in (table.codes.keys(), table.codes.values()))
    write = partial(np.savez, facts=np.array(json.dumps(facts)), names=hashes, codes=codes)
    with suppress(OSError, InputError):
        write_atomically(path, write, str(os.getpid()))


def _hash_files(folder: Path | None) -> str:
    """Return a hash of the rules and of all data files by name, size and time."""
    rules = (Path(__file__), Path(open_data.__file__), Path(identity.__file__))
    state = [path.read_text("utf-8") for path in rules]
    for source in OPEN_DATA_SETS:
        if _exists(folder, source.data):
            for path in sorted(((folder or Path()) / source.data).glob(source.files)):
                state.append(f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}")
    return blake2b("\n".join(state).encode(), digest_size=12).hexdigest()


def _exists(folder: Path | None, data: str) -> bool:
    return ((folder or Path()) / data).is_dir()


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitEntry:
    """A record, its paper, the part by its own data set (`own_part`) and the part over all data sets."""

    row: Record
    paper: Paper
    own_part: Part
    part: Part


def read_entries(data_root: DataRoot, data: str) -> list[SplitEntry]:
    """Return the papers of a data set in the order of its files, each with both parts.

    A paper without an id is named by the data set and its number.
    """
    table = SplitTable.load(data_root)
    entries = []
    for number, (row, paper, own_part) in enumerate(OPEN_DATA_BY_NAME[data].read(data_root)):
        if paper.id == UNNAMED:
            part = table.part(*list_paper_keys(paper)) or own_part
            paper = replace(paper, id=f"{data}#{number}")
        else:
            part = table.part(f"{data}:{paper.id}") or own_part
        entries.append(SplitEntry(row=row, paper=paper, own_part=own_part, part=part))
    return entries

"""Find duplicate papers: by id, by DOI or another system's id, by title, by text."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.papers.identity import (
    MAX_SHARING,
    MAX_WORKS,
    MIN_TEXT_WORDS,
    WORD_PATTERN,
    PaperIdentity,
    find_containers,
    find_equal_runs,
    hash_text,
    identify,
    is_same_paper,
    is_same_title,
    join_groups,
)
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper, Place

MAX_SAME_TITLE = 1000  # a title of more papers is generic
SHINGLE_WORDS = 3
HASH_COUNT = 128  # standard error of a similarity of 0.8: 0.035
BATCH_WORDS = 1 << 16  # a batch fits a core's cache
NEIGHBOURS = 8  # papers compared with each one in a bucket
COLUMNS = ("key", *PAPER_ID_SYSTEMS, *PaperIdentity._fields[1:])  # of each paper, 64 bits each; key: of its id


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Copies of one paper: ids and positions (from 0) in the order read, and the reasons.

    Reasons: `id`, a system such as `doi`, `title`, `text`. Each links two papers of the group, so the first
    and the last may share none of them.
    """

    ids: tuple[str, ...]
    positions: tuple[int, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdClash:
    """One id of different papers, no book's DOI: the position (from 0) and the place of the first record of each."""

    id: str
    positions: tuple[int, ...]
    places: tuple[Place | None, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """All groups of duplicates and all clashes, ordered by first position, and how many papers were compared.

    containers: how many identifiers are of no paper (`find_containers`), as a book's DOI that its chapters have.
    """

    papers: int
    groups: tuple[DuplicateGroup, ...]
    clashes: tuple[IdClash, ...] = ()
    containers: int = 0

    @property
    def surplus(self) -> int:
        """Count the papers that are dropped when one of each group is kept."""
        return sum(len(group.ids) - 1 for group in self.groups)

    def reasons(self) -> dict[str, int]:
        """Count the groups of each reason."""
        return dict(Counter(reason for group in self.groups for reason in group.reasons).most_common())


def find_duplicates(papers: Iterable[Paper], *, near_duplicates: float | None = 0.8) -> Duplicates:
    """Group papers that share a DOI, a title with a fitting year, or nearly all of their text.

    Records of one id are a group where `is_same_paper` says so; else the id is a clash. Titles and texts group no
    papers that an identifier or a number in the title tells apart. near_duplicates: Jaccard similarity of the texts'
    word 3-grams from which two are duplicates; None compares no texts. Papers are read once; about 0.9 kB of each is
    held in memory.
    """
    finder = DuplicateFinder(near_duplicates=near_duplicates)
    for paper in papers:
        finder.add(paper)
    return finder.find()


def find_versions(papers: Sequence[Paper]) -> list[list[int]]:
    """Return the positions of each paper's versions in the list of one person: preprint, article, import, copies.

    Duplicates are versions, and so are records of one title or abstract that nothing tells apart, whatever their years.
    Of each paper, the first version with an abstract comes first, if any has one.
    """
    groups = {position: [position] for position in range(len(papers))}
    for duplicates in find_duplicates(papers).groups:
        for position in duplicates.positions[1:]:
            join_groups(groups, duplicates.positions[0], position)
    by_text: dict[int, list[tuple[int, PaperIdentity]]] = defaultdict(list)
    for position, identity in enumerate(map(identify, papers)):
        for key in filter(None, (0 if identity.generic else identity.title, identity.abstract)):
            same = (first for first, other in by_text[key] if not other.apart(identity))
            join_groups(groups, next(same, position), position)
            by_text[key].append((position, identity))
    distinct = {min(group): group for group in groups.values()}
    return [sorted(group, key=lambda row: (not papers[row].abstract, row)) for _, group in sorted(distinct.items())]


class DuplicateFinder:
    """Collect hashes of papers one by one, and group the duplicates at the end.

    tell_apart: whether papers of one title or text are apart where an identifier or a number in the title says so.
    """

    def __init__(self, *, near_duplicates: float | None = 0.8, tell_apart: bool = True) -> None:
        if near_duplicates is not None and not 0 < near_duplicates <= 1:
            raise InputError(f"near_duplicates is {near_duplicates}; give a similarity above 0 and up to 1")
        self._ids: list[str] = []
        self._rows = array("Q")  # `COLUMNS` of each paper
        self._places = array("I")  # record, line
        self._files = {0: ""}
        self._near_duplicates, self._tell_apart = near_duplicates, tell_apart
        self._texts = MinHashSignatures()
        self._containers: set[int] = set()

    def add(self, paper: Paper) -> None:
        """Add one paper."""
        identity, place = identify(paper), paper.place or Place("")
        self._files[identity.file] = place.file
        self._places.extend((place.record or 0, place.line or 0))
        self._rows.extend((hash_text(paper.id), *identity.ids, *identity[1:]))
        if self._near_duplicates is not None:
            self._texts.add(len(self._ids), f"{paper.title} {paper.abstract}")
        self._ids.append(paper.id)

    def find(self) -> Duplicates:
        """Group all papers added so far."""
        table = np.frombuffer(self._rows, np.uint64).reshape(-1, len(COLUMNS))
        columns: dict[str, NDArray[np.uint64]] = dict(zip(COLUMNS, table.T, strict=True))
        runs = {system: list(find_equal_runs(columns[system])) for system in PAPER_ID_SYSTEMS}
        self._containers = set()
        for run in chain.from_iterable(runs.values()):
            self._containers |= find_containers(self.identity(position) for position in run[:MAX_SHARING])
        same_ids, clashes = self._same_ids(columns["key"])
        groups = _Groups(self)
        groups.link("id", same_ids)
        for system in PAPER_ID_SYSTEMS:
            of_papers = (run for run in runs[system] if int(columns[system][run[0]]) not in self._containers)
            groups.link(system, ((run[0], position) for run in of_papers for position in run[1:]))
        identifies = (columns["long"] | (columns["year"] != 0) & (columns["authors"] != 0)) > columns["generic"]
        titles = self._same_titles(np.where(identifies, columns["title"], 0), columns["year"])
        groups.link("title", titles, check=self._tell_apart)
        if self._near_duplicates is not None:
            groups.link("text", self._texts.pairs(self._near_duplicates), check=self._tell_apart)
        return Duplicates(len(self._ids), tuple(groups.build(self._ids)), tuple(clashes), len(self._containers))

    def _same_ids(self, keys: NDArray[np.uint64]) -> tuple[list[tuple[int, int]], list[IdClash]]:
        """Link records of one id that are one paper; return the links, and the ids of several papers."""
        links: list[tuple[int, int]] = []
        clashes: list[IdClash] = []
        for run in find_equal_runs(keys):
            works: dict[int, PaperIdentity] = {}  # the first record of each paper
            for position in run:
                identity = self.identity(position)
                compared = islice(works.items(), MAX_WORKS)
                same = next((first for first, work in compared if is_same_paper(work, identity)), None)
                if same is None:
                    works[position] = identity
                else:
                    links.append((same, position))
            if len(works) > 1 and self._containers.isdisjoint(identify(Paper(id=self._ids[run[0]])).ids):
                clashes.append(IdClash(self._ids[run[0]], tuple(works), tuple(map(self._place, works))))
        return links, sorted(clashes, key=lambda clash: clash.positions)

    def identity(self, position: int) -> PaperIdentity:
        """Return what tells the paper at a position apart."""
        row = self._rows[len(COLUMNS) * position : len(COLUMNS) * (position + 1)]
        ids = tuple(0 if id in self._containers else id for id in row[1 : 1 + len(PAPER_ID_SYSTEMS)])
        return PaperIdentity._make((ids, *row[1 + len(PAPER_ID_SYSTEMS) :]))

    def _place(self, position: int) -> Place | None:
        record, line = self._places[2 * position : 2 * position + 2]
        file = self._files[self.identity(position).file]
        return Place(file, record or None, line or None) if file else None

    def _same_titles(self, titles: NDArray[np.uint64], years: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
        """Link papers of one title that are one by identifiers, years and first authors."""
        for run in find_equal_runs(titles):
            if len(run) > MAX_SAME_TITLE:
                continue
            works: list[tuple[int, PaperIdentity]] = []  # the earliest paper of each work
            for position in sorted(run, key=lambda row: (not years[row], years[row], row)):
                paper = self.identity(position)
                if not self._tell_apart:
                    paper = paper._replace(ids=(0,) * len(paper.ids), registrant=0, series=False)
                fits = [(abs(paper.year - work.year), first) for first, work in works if is_same_title(work, paper)]
                if fits and (paper.year or len(fits) == 1):
                    yield min(fits)[1], position  # of the nearest year
                else:  # a paper without a year that fits several works is assigned to none
                    works.append((position, paper))


class MinHashSignatures:
    """MinHash signatures of texts: the share of equal entries estimates the Jaccard similarity (Broder 1997).

    Only the low 16 bits of each minimum are kept (Li and König 2010): 256 bytes a text, and unequal minima
    look equal with probability 1 / 65,536.
    """

    def __init__(self, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        self._factors = draw.integers(0, 1 << 32, HASH_COUNT, dtype=np.uint32) | np.uint32(1)
        self._shifts = draw.integers(0, 1 << 32, HASH_COUNT, dtype=np.uint32)
        self._positions = array("q")
        self._blocks: list[NDArray[np.uint16]] = []
        self._words = array("I")
        self._ends: list[int] = []

    def add(self, position: int, text: str) -> None:
        """Add the text of the paper at `position`; a short one is ignored."""
        words = " ".join(WORD_PATTERN.findall(text.casefold())).encode("utf-8", "replace").split()
        if len(words) < MIN_TEXT_WORDS:
            return
        self._positions.append(position)
        self._words.extend(map(crc32, words))
        self._ends.append(len(self._words))
        if len(self._words) >= BATCH_WORDS:
            self._sign()

    def pairs(self, min_similarity: float) -> Iterator[tuple[int, int]]:
        """Yield pairs of positions of texts with at least this estimated similarity.

        Texts share a bucket if all hashes of a band are equal. Bands are as long as possible while 99 % of
        the pairs at `min_similarity` share a bucket. Each text is compared with its next neighbours in the
        bucket.
        """
        if self._ends:
            self._sign()
        if not self._blocks:
            return
        signatures = np.concatenate(self._blocks)
        self._blocks = [signatures]
        positions = np.frombuffer(self._positions, dtype=np.int64)
        # rows of a band -> probability that such texts share all hashes of at least one band
        shared = {n: 1.0 - (1.0 - min_similarity**n) ** (HASH_COUNT // n) for n in range(2, HASH_COUNT + 1)}
        rows = max((n for n, probability in shared.items() if probability >= 0.99), default=1)
        for start in range(0, HASH_COUNT - rows + 1, rows):
            for left, right in _find_bucket_pairs(signatures[:, start : start + rows]):
                similar = (signatures[left] == signatures[right]).mean(axis=1) >= min_similarity
                yield from zip(positions[left[similar]].tolist(), positions[right[similar]].tolist(), strict=True)

    def _sign(self) -> None:
        words = np.frombuffer(self._words, dtype=np.uint32)
        ends = np.array(self._ends)
        inside = np.ones(len(words), dtype=bool)
        for step in range(1, SHINGLE_WORDS):
            inside[ends - step] = False  # a shingle that starts here runs into the next text
        shingles = _hash_shingles(words)[inside[: 1 - SHINGLE_WORDS]]
        lengths = np.diff(ends, prepend=0) - (SHINGLE_WORDS - 1)
        starts = np.cumsum(lengths) - lengths
        signatures = np.empty((len(ends), HASH_COUNT), dtype=np.uint16)
        hashed = np.empty_like(shingles)
        for column in range(HASH_COUNT):
            np.multiply(shingles, self._factors[column], out=hashed)
            hashed += self._shifts[column]
            signatures[:, column] = np.minimum.reduceat(hashed, starts).astype(np.uint16)
        self._blocks.append(signatures)
        self._words, self._ends = array("I"), []


def _hash_shingles(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Hash each run of `SHINGLE_WORDS` words into one well-mixed number. (N,) -> (N - SHINGLE + 1,)."""
    count = len(words) - SHINGLE_WORDS + 1
    mixed = np.zeros(count, dtype=np.uint32)
    for step in range(SHINGLE_WORDS):
        mixed += words[step : step + count]
        mixed *= np.uint32(0x9E3779B1)
        mixed ^= mixed >> np.uint32(15)
        mixed *= np.uint32(0x85EBCA77)
        mixed ^= mixed >> np.uint32(13)
    return mixed


def _find_bucket_pairs(band: NDArray[np.uint16]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield arrays of row pairs that are equal in the whole band, at most `NEIGHBOURS` for each row."""
    keys = np.zeros(len(band), dtype=np.uint64)
    for column in band.T:
        keys = (keys + column) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    for step in range(1, NEIGHBOURS + 1):
        equal = np.flatnonzero(keys[step:] == keys[:-step])
        if not len(equal):
            return
        for block in np.array_split(equal, 1 + len(equal) // 65536):
            yield order[block], order[block + step]


class _Groups:
    """Joins linked positions into groups, with the reasons of each."""

    def __init__(self, finder: DuplicateFinder) -> None:
        self._finder = finder
        self._groups: dict[int, list[int]] = {}
        self._linked: dict[str, set[int]] = {}
        self._claims: dict[int, dict[str, set[int]]] = {}  # position -> of all papers of its group

    def link(self, reason: str, pairs: Iterable[tuple[int, int]], *, check: bool = False) -> None:
        """Join the groups of linked papers; with check, only those without papers that something tells apart."""
        linked = self._linked.setdefault(reason, set())
        for pair in pairs:
            ones, others = (self._groups.get(position, [position]) for position in pair)
            if ones is not others:
                claims, more = (
                    self._claims.get(group[0]) or self._finder.identity(group[0]).claims() for group in (ones, others)
                )
                if check and any(values.isdisjoint(more.get(kind, values)) for kind, values in claims.items()):
                    continue
                for kind, values in more.items():
                    claims.setdefault(kind, set()).update(values)
                join_groups(self._groups, *pair)
                self._claims[self._groups[pair[0]][0]] = claims
            linked.add(pair[0])

    def build(self, ids: list[str]) -> Iterator[DuplicateGroup]:
        """Yield the groups in the order of their first papers."""
        distinct = {min(group): sorted(group) for group in self._groups.values()}
        for _, group in sorted(distinct.items()):
            reasons = tuple(reason for reason, linked in self._linked.items() if not linked.isdisjoint(group))
            yield DuplicateGroup(tuple(ids[position] for position in group), tuple(group), reasons)

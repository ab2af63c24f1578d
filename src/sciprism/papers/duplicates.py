"""Find papers that occur more than once: by id, by DOI and its like, by title, by text."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.papers.records import Paper

Words = NDArray[np.uint32]
Keys = NDArray[np.uint64]
Places = NDArray[np.intp]

# Names in other systems that belong to one paper alone; an ISBN or a URL is shared by the parts of a book.
SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2")
# Headings that many papers bear, even from one author in one year; without case, spaces and punctuation.
_HEADINGS = """
abstract abstracts acknowledgements announcement bookreview bookreviews comment commentary conclusion
conclusions contents corrigendum correction discussion editorial editorialboard editorsnote erratum errata
foreword frontmatter guesteditorial index introduction inthisissue inmemoriam letter letters
lettertotheeditor letterstotheeditor masthead news notitle obituary overview panel preface proceedings
reply response retraction review summary tableofcontents title titlepage untitled
"""
HEADINGS = frozenset(_HEADINGS.split())
SHORT_TITLE = 5  # titles of fewer words need the same author and year before they count
CROWD = 1000  # a title that so many papers bear is a heading
SHORT_TEXT = 30  # texts of fewer words are too alike by chance, and often mere notices
SHINGLE = 3  # words
HASHES = 128  # standard error of a similarity of 0.8: 0.035
BATCH_WORDS = 1 << 16  # so that a batch stays in a core's cache
NEIGHBOURS = 8  # papers compared with each one in a bucket
# Chinese and Japanese write no spaces between words: each of their characters counts as one.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Papers that are one: ids and places (from 0) in the order read, and what showed it.

    Reasons: `id`, a system such as `doi`, `title`, `text`. They hold between neighbours in the group, so the
    first and the last may share none of them.
    """

    ids: tuple[str, ...]
    places: tuple[int, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Every group of a collection, ordered by first place, and the number of papers looked at."""

    papers: int
    groups: tuple[DuplicateGroup, ...]

    @property
    def surplus(self) -> int:
        """Count the papers that go when one of each group stays."""
        return sum(len(group.ids) - 1 for group in self.groups)

    def reasons(self) -> dict[str, int]:
        """Count the groups that each reason had a part in."""
        return dict(Counter(reason for group in self.groups for reason in group.reasons).most_common())


def find_duplicates(papers: Iterable[Paper], *, near: float | None = 0.8) -> Duplicates:
    """Group papers that share an id, a DOI, a title with a fitting year, or nearly all of their text.

    `near` is the Jaccard similarity of the texts' word 3-grams from which two count as one; None compares no
    texts. Papers are read once and not kept: about 0.8 kB stays of each.
    """
    finder = DuplicateFinder(near=near)
    for paper in papers:
        finder.add(paper)
    return finder.find()


class DuplicateFinder:
    """Take papers one by one, keep keys of them, and group them at the end."""

    def __init__(self, *, near: float | None = 0.8) -> None:
        if near is not None and not 0 < near <= 1:
            raise InputError(f"near is {near}, not a similarity; give a number above 0 and up to 1")
        self._ids: list[str] = []
        self._keys = {name: array("Q") for name in ("id", *SYSTEMS, "title")}
        self._years = array("i")
        self._authors = array("Q")
        self._near = near
        self._texts = TextSignatures()

    def add(self, paper: Paper) -> None:
        """Take in one paper."""
        place = len(self._ids)
        self._ids.append(paper.id)
        self._keys["id"].append(_key(paper.id))
        for system in SYSTEMS:
            self._keys[system].append(_key(paper.ids.get(system, "").lower()))
        self._years.append(paper.year if paper.year and abs(paper.year) < 10_000 else 0)
        self._authors.append(_name_bits(paper))
        self._keys["title"].append(
            _title_key(paper.title, certain=bool(self._years[-1] and self._authors[-1]))
        )
        if self._near is not None:
            self._texts.add(place, f"{paper.title} {paper.abstract}")

    def find(self) -> Duplicates:
        """Group all papers taken in so far."""
        links: dict[str, Iterable[tuple[int, int]]] = {
            name: _chains(_equal(keys)) for name, keys in self._keys.items() if name != "title"
        }
        links["title"] = self._same_titles()
        if self._near is not None:
            links["text"] = self._texts.pairs(self._near)
        return Duplicates(len(self._ids), tuple(_groups(self._ids, links)))

    def _same_titles(self) -> Iterator[tuple[int, int]]:
        """Link papers of one title whose years lie at most one apart and whose first authors may agree."""
        for run in _equal(self._keys["title"]):
            if len(run) > CROWD:
                continue
            works: list[int] = []  # the earliest paper of each work
            for place in sorted(run, key=lambda place: (not self._years[place], self._years[place], place)):
                fits = [first for first in works if self._may_agree(first, place)]
                if fits and (self._years[place] or len(fits) == 1):
                    yield fits[0], place
                else:  # a paper without a year that fits several works belongs to none for certain
                    works.append(place)

    def _may_agree(self, one: int, other: int) -> bool:
        years = self._years[one], self._years[other]
        authors = self._authors[one], self._authors[other]
        same_year = abs(years[0] - years[1]) <= 1 or not all(years)
        return same_year and (bool(authors[0] & authors[1]) or not all(authors))


class TextSignatures:
    """Sign texts; the share of equal entries estimates the Jaccard similarity (MinHash, Broder 1997).

    Of each minimum only the low 16 bits are kept (Li and König 2010): 256 bytes a text, and a chance of
    1 in 65,536 that unequal minima look equal.
    """

    def __init__(self, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        self._factors = draw.integers(0, 1 << 32, HASHES, dtype=np.uint32) | np.uint32(1)
        self._shifts = draw.integers(0, 1 << 32, HASHES, dtype=np.uint32)
        self._places = array("q")
        self._blocks: list[NDArray[np.uint16]] = []
        self._words = array("I")
        self._ends: list[int] = []

    def add(self, place: int, text: str) -> None:
        """Take in the text of the paper at `place`; a short one takes no part."""
        words = " ".join(WORD.findall(text.casefold())).encode("utf-8", "replace").split()
        if len(words) < SHORT_TEXT:
            return
        self._places.append(place)
        self._words.extend(map(crc32, words))
        self._ends.append(len(self._words))
        if len(self._words) >= BATCH_WORDS:
            self._sign()

    def pairs(self, near: float) -> Iterator[tuple[int, int]]:
        """Yield the places of texts whose estimated similarity reaches `near`.

        Texts meet in a bucket where all hashes of a band are equal. Bands are as long as still let 99% of the
        pairs at `near` meet. In a bucket each text is compared with its next neighbours, not with all.
        """
        if self._ends:
            self._sign()
        if not self._blocks:
            return
        signatures = np.concatenate(self._blocks)
        self._blocks = [signatures]
        places = np.frombuffer(self._places, dtype=np.int64)
        rows = max(r for r in range(1, HASHES + 1) if r == 1 or _meeting_chance(near, r) >= 0.99)
        for start in range(0, HASHES - rows + 1, rows):
            for left, right in _bucket_pairs(signatures[:, start : start + rows]):
                similar = (signatures[left] == signatures[right]).mean(axis=1) >= near
                yield from zip(places[left[similar]].tolist(), places[right[similar]].tolist(), strict=True)

    def _sign(self) -> None:
        words = np.frombuffer(self._words, dtype=np.uint32)
        ends = np.array(self._ends)
        inside = np.ones(len(words), dtype=bool)
        for step in range(1, SHINGLE):
            inside[ends - step] = False  # a shingle that starts here runs into the next text
        shingles = _shingles(words)[inside[: 1 - SHINGLE]]
        lengths = np.diff(ends, prepend=0) - (SHINGLE - 1)
        starts = np.cumsum(lengths) - lengths
        signatures = np.empty((len(ends), HASHES), dtype=np.uint16)
        hashed = np.empty_like(shingles)
        for column in range(HASHES):
            np.multiply(shingles, self._factors[column], out=hashed)
            hashed += self._shifts[column]
            signatures[:, column] = np.minimum.reduceat(hashed, starts).astype(np.uint16)
        self._blocks.append(signatures)
        self._words, self._ends = array("I"), []


def _shingles(words: Words) -> Words:
    """Hash each run of `SHINGLE` words into one well-mixed number. (N,) -> (N - SHINGLE + 1,)."""
    count = len(words) - SHINGLE + 1
    mixed = np.zeros(count, dtype=np.uint32)
    for step in range(SHINGLE):
        mixed += words[step : step + count]
        mixed *= np.uint32(0x9E3779B1)
        mixed ^= mixed >> np.uint32(15)
        mixed *= np.uint32(0x85EBCA77)
        mixed ^= mixed >> np.uint32(13)
    return mixed


def _meeting_chance(similarity: float, rows: int) -> float:
    """Return the chance that texts of this similarity agree on all `rows` hashes of at least one band."""
    return 1.0 - (1.0 - similarity**rows) ** (HASHES // rows)


def _bucket_pairs(band: NDArray[np.uint16]) -> Iterator[tuple[Places, Places]]:
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


def _key(text: str) -> int:
    """Hash a text to 64 bits; 0 stands for no text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) if text else 0


def _plain_words(text: str) -> list[str]:
    """Return the words of a text without case, accents or punctuation."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return WORD.findall(text.casefold())


def _title_key(title: str, *, certain: bool) -> int:
    """Hash a title that tells papers apart; a short one does so only where year and author are `certain`."""
    words = _plain_words(title)
    joined = "".join(words)  # so that "meta-analysis", "meta analysis" and "metaanalysis" are one
    return _key(joined) if (certain or len(words) >= SHORT_TITLE) and joined not in HEADINGS else 0


def _name_bits(paper: Paper) -> int:
    """Return 64 bits in which each word of the first author's name sets one; initials set none.

    Names of one person share a bit in whatever order and however shortened; 0 means no author.
    """
    bits = 0
    for word in _plain_words(paper.authors[0]) if paper.authors else ():
        if len(word) > 1 or not word.isascii():
            bits |= 1 << (_key(word) % 64)
    return bits


def _equal(column: array[int]) -> Iterator[list[int]]:
    """Yield the places, in order, of every key that occurs more than once."""
    keys: Keys = np.frombuffer(column, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    order = order[keys[order] != 0]
    starts = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(0)))
    lengths = np.diff(starts, append=len(order))
    for start, length in zip(starts[lengths > 1].tolist(), lengths[lengths > 1].tolist(), strict=True):
        yield order[start : start + length].tolist()


def _chains(runs: Iterable[list[int]]) -> Iterator[tuple[int, int]]:
    for run in runs:
        for place in run[1:]:
            yield run[0], place


def _groups(ids: list[str], links: dict[str, Iterable[tuple[int, int]]]) -> Iterator[DuplicateGroup]:
    """Join linked places into groups (union-find) and tell what linked each."""
    parents: dict[int, int] = {}
    linked: dict[str, set[int]] = {reason: set() for reason in links}

    def root(place: int) -> int:
        while (parent := parents.setdefault(place, place)) != place:
            parents[place] = place = parents[parent]
        return place

    for reason, pairs in links.items():
        for one, other in pairs:
            parents[root(other)] = root(one)
            linked[reason].add(one)
    members: dict[int, list[int]] = {}
    for place in sorted(parents):
        members.setdefault(root(place), []).append(place)
    why: dict[int, dict[str, None]] = {}
    for reason, places in linked.items():
        for place in places:
            why.setdefault(root(place), {})[reason] = None
    for top, group in members.items():
        yield DuplicateGroup(tuple(ids[place] for place in group), tuple(group), tuple(why[top]))

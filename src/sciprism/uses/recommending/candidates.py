"""The best new papers of a stream, overall and of each interest, without those that the library has already."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, normalize_rows
from sciprism.papers.bibliography_entries import find_doi
from sciprism.papers.duplicates import (
    GENERIC_TITLES,
    MIN_TEXT_WORDS,
    MIN_TITLE_WORDS,
    SHINGLE_WORDS,
    hash_first_author,
    identify,
    is_same_paper,
    normalise_words,
)
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.store import StoredCollection
from sciprism.uses.recommending.paper_sources import PaperBlock
from sciprism.uses.recommending.profile import LibraryProfile, Relevance
from sciprism.uses.recommending.results import RecommendCounts

RETAINED = 300
"""Papers retained overall and of each interest, at least."""
PER_RESULT = 4
"""Papers retained for each one of the list."""
NEAR_COPY = "near-duplicate"
NEAR_COSINE = 0.85
"""Similarity from which two papers' texts are compared: vectors alone do not tell a copy from a sequel."""
MIN_SHARED_TEXT = 0.5
"""Jaccard similarity of the word 3-grams of two texts of one paper: its preprint, or a corrected abstract."""
MIN_SHARED_TITLE = 0.8
"""Jaccard similarity of the words of two titles of one paper, where an abstract is missing."""
_ARXIV_DOI = "10.48550/arxiv."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new paper that may be recommended: its number in the order read, and its vector (d,) of length 1.

    stored, row: where the fields are that a block of a collection lacks.
    """

    number: int
    paper: Paper
    vector: Floats
    stored: StoredCollection | None
    row: int

    def complete(self) -> Paper:
        """Return the paper with all its fields."""
        return self.paper if self.stored is None else self.stored.papers([self.row])[0]


class CandidatePool:
    """The best new papers so far: memory depends on the length of the list, not on how many are read.

    own: the papers of the library, in the rows of the profile. unwanted: those that are not to be shown. counts: of
    new papers, which are counted here.
    """

    def __init__(
        self, profile: LibraryProfile, own: Sequence[Paper], unwanted: Sequence[Paper], k: int, counts: RecommendCounts
    ) -> None:
        self.profile, self.own, self.counts = profile, own, counts
        self._owned, self._unwanted = OwnedPapers(own), OwnedPapers(unwanted)
        size = max(RETAINED, PER_RESULT * k)
        self._overall = _Best(size)
        self._inside = [_Best(size) for _ in profile.members]

    def add(self, block: PaperBlock) -> None:
        """Score the papers of a block, and retain those among the best; count those that are known."""
        first = self.counts.new
        self.counts.new += len(block.papers)
        self.counts.new_without_abstract += block.without_abstract
        new = [i for i, paper in enumerate(block.papers) if not self._is_known(paper)]
        papers = [block.papers[i] for i in new]
        vectors = normalize_rows(block.vectors[new])
        relevance = self.profile.score(vectors, list_years(papers))
        inside = [best.floor for best in self._inside]
        floors = np.array(inside)[relevance.interest] if new else np.empty(0)
        good = (relevance.overall > self._overall.floor) | (relevance.inside > floors)
        for place in np.flatnonzero(good).tolist():
            row = block.rows[new[place]] if block.stored is not None else -1
            vector = vectors[place].copy()  # a view would hold its whole block in memory
            candidate = Candidate(first + new[place], papers[place], vector, block.stored, row)
            nearest = self.own[relevance.own[place]]
            if relevance.nearest[place] >= NEAR_COSINE and is_near_copy(candidate.complete(), nearest):
                self._count_owned(NEAR_COPY)
            else:
                self._retain(candidate, relevance, place)

    def list_best(self) -> list[Candidate]:
        """Return the retained papers, each once, in the order read."""
        pools = (self._overall, *self._inside)
        by_number = {candidate.number: candidate for pool in pools for candidate in pool.candidates()}
        seen, distinct = OwnedPapers(), []
        for _, candidate in sorted(by_number.items()):
            if seen.find_reason(candidate.paper):
                self.counts.repeated += 1
            else:
                seen.add(candidate.paper)
                distinct.append(candidate)
        return distinct

    def _is_known(self, paper: Paper) -> bool:
        if reason := self._owned.find_reason(paper):
            self._count_owned(reason)
        elif self._unwanted.find_reason(paper):
            self.counts.unwanted += 1
            return True
        return bool(reason)

    def _count_owned(self, reason: str) -> None:
        self.counts.owned[reason] = self.counts.owned.get(reason, 0) + 1

    def _retain(self, candidate: Candidate, relevance: Relevance, place: int) -> None:
        self._overall.add(float(relevance.overall[place]), candidate)
        if relevance.fits[place]:
            self._inside[relevance.interest[place]].add(float(relevance.inside[place]), candidate)


class _Best:
    """The best candidates by a score; of equal ones those read first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[float, int, Candidate]] = []

    @property
    def floor(self) -> float:
        """Return the score that a paper must exceed."""
        return self._heap[0][0] if len(self._heap) == self._size else -np.inf

    def add(self, score: float, candidate: Candidate) -> None:
        entry = (score, -candidate.number, candidate)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        elif entry[:2] > self._heap[0][:2]:
            heapq.heapreplace(self._heap, entry)

    def candidates(self) -> list[Candidate]:
        return [candidate for _, _, candidate in self._heap]


def list_years(papers: Sequence[Paper]) -> Doubles:
    """Return the years of papers, NaN for none."""
    return np.array([np.nan if paper.year is None else paper.year for paper in papers], np.float64)


class OwnedPapers:
    """Papers by id, ids of other systems and title."""

    def __init__(self, papers: Iterable[Paper] = ()) -> None:
        self._by_key: dict[tuple[str, str], list[Paper]] = {}
        for paper in papers:
            self.add(paper)

    def add(self, paper: Paper) -> None:
        """Add one paper."""
        for key in _list_keys(paper):
            self._by_key.setdefault(key, []).append(paper)

    def find_reason(self, paper: Paper) -> str | None:
        """Return by what a paper is owned: `id`, a system such as `doi`, `title`; None where it is not.

        An id counts where nothing tells the two papers apart, a title as in `find_duplicates`, but a preprint may be
        years older than the paper if the first authors agree.
        """
        for key in _list_keys(paper):
            kind = key[0]
            for other in self._by_key.get(key, ()):
                if (
                    kind in PAPER_ID_SYSTEMS
                    or (kind == "id" and is_same_paper(identify(paper), identify(other)))
                    or (kind == "title" and _has_same_source(paper, other))
                ):
                    return kind
        return None


def is_near_copy(paper: Paper, other: Paper) -> bool:
    """Return whether two papers with near vectors have nearly the same text, or title where an abstract is missing."""
    texts = [normalise_words(one.abstract) for one in (paper, other)]
    if min(map(len, texts)) >= MIN_TEXT_WORDS:
        return _jaccard(*map(_find_shingles, texts)) >= MIN_SHARED_TEXT
    titles = [normalise_words(one.title) for one in (paper, other)]
    if min(map(len, titles)) < MIN_TITLE_WORDS or not _may_share_author(paper, other):
        return False
    return _jaccard(*map(set, titles)) >= MIN_SHARED_TITLE


def _list_keys(paper: Paper) -> list[tuple[str, str]]:
    """Return the names by which a paper can be found again: ids of other systems, its id, its title's letters."""
    keys = [(system, id.lower()) for system, id in paper.ids.items() if id and system in PAPER_ID_SYSTEMS]
    doi = find_doi(paper).lower()
    if doi and "doi" not in paper.ids:
        keys.append(("doi", doi))
    if doi.startswith(_ARXIV_DOI):
        keys.append(("arxiv", doi.removeprefix(_ARXIV_DOI)))
    keys.append(("id", paper.id))
    title = "".join(normalise_words(paper.title))
    if title and title not in GENERIC_TITLES:
        keys.append(("title", title))
    return keys


def _has_same_source(paper: Paper, other: Paper) -> bool:
    """Return whether two papers of one title are one: by first author, year and length of the title."""
    named = bool(hash_first_author(paper) and hash_first_author(other))
    if not _may_share_author(paper, other):
        return False
    near = not (paper.year and other.year) or abs(paper.year - other.year) <= 1
    if len(normalise_words(paper.title)) >= MIN_TITLE_WORDS:
        return named or near
    return named and near and bool(paper.year and other.year)


def _may_share_author(paper: Paper, other: Paper) -> bool:
    one, two = hash_first_author(paper), hash_first_author(other)
    return bool(one & two) or not (one and two)


def _find_shingles(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False))


def _jaccard(one: set[str] | set[tuple[str, ...]], other: set[str] | set[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0

"""The best new papers of a stream, overall and of each interest, without those that the library has already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from sciprism.arrays import Doubles, Floats, normalize_rows
from sciprism.papers.bibliography_entries import find_doi
from sciprism.papers.duplicates import SHINGLE_WORDS
from sciprism.papers.identity import (
    GENERIC_TITLES,
    MIN_TEXT_WORDS,
    PaperIdentity,
    identify,
    is_same_paper,
    is_same_title,
    list_ids,
    may_share_source,
    normalize_words,
)
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.uses.recommending.paper_sources import PaperBlock
from sciprism.uses.recommending.profile import LibraryProfile
from sciprism.uses.recommending.results import NEAR_COPY, REPEATED, LeftOut, RecommendCounts

RETAINED = 300  # papers retained overall and of each interest, at least
PER_RESULT = 4  # papers retained for each one of the list
NEAR_COSINE = 0.85
"""Similarity from which two papers' texts are compared: vectors alone do not tell a copy from a sequel."""
MIN_SHARED_TEXT = 0.5
"""Jaccard similarity of the word 3-grams of two texts of one paper: its preprint, or a corrected abstract."""
FUNCTION_WORDS = {"a", "an", "and", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"}
"""In which titles of one paper may differ, where an abstract is missing."""


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


Scored = tuple[float, int, Candidate]
"""A score, and minus the candidate's number: of equal scores those read first are better."""


class CandidatePool:
    """The best new papers so far: memory depends on the length of the list, not on how many are read.

    own: the papers of the library, in the rows of the profile; versions: further records of them. hidden: those that
    are not to be shown, by the reason. counts: of new papers, which are counted here. left_out: those that are not
    recommended because they are known.
    """

    def __init__(
        self,
        profile: LibraryProfile,
        own: Sequence[Paper],
        hidden: Mapping[str, Sequence[Paper]],
        k: int,
        counts: RecommendCounts,
        versions: Sequence[Paper] = (),
    ) -> None:
        self.profile, self.own, self.counts = profile, own, counts
        self._owned = OwnedPapers([*own, *versions])
        self._hidden = {reason: OwnedPapers(papers) for reason, papers in hidden.items()}
        self._size = max(RETAINED, PER_RESULT * k)
        self.left_out: list[LeftOut] = []
        self._best: list[list[Scored]] = [[] for _ in range(1 + len(profile.members))]

    def add(self, block: PaperBlock) -> None:
        """Score the papers of a block, and retain those among the best; count those that are known."""
        first = self.counts.new
        self.counts.new += len(block.papers)
        self.counts.new_without_abstract += block.without_abstract
        new = [i for i, paper in enumerate(block.papers) if not self._is_known(paper)]
        papers = [block.papers[i] for i in new]
        vectors = normalize_rows(block.vectors[new])
        relevance = self.profile.score(vectors, list_years(papers))
        floors = np.array([best[-1][0] if len(best) == self._size else -np.inf for best in self._best])
        inside = 1 + relevance.interest
        good = (relevance.overall > floors[0]) | (relevance.inside > floors[inside])
        for place in np.flatnonzero(good).tolist():
            row = block.rows[new[place]] if block.stored is not None else -1
            vector = vectors[place].copy()  # a view would hold its whole block in memory
            candidate = Candidate(first + new[place], papers[place], vector, block.stored, row)
            nearest = self.own[relevance.own[place]]
            if relevance.nearest[place] >= NEAR_COSINE and is_near_copy(candidate.complete(), nearest):
                self._leave_out_owned(candidate.paper, NEAR_COPY, nearest)
                continue
            self._best[0].append((float(relevance.overall[place]), -candidate.number, candidate))
            if relevance.fits[place]:
                self._best[inside[place]].append((float(relevance.inside[place]), -candidate.number, candidate))
        self._best = [nlargest(self._size, best) for best in self._best]

    def list_best(self) -> list[Candidate]:
        """Return the retained papers, each once, in the order read; count the others, and order the counts."""
        self.counts.owned = dict(sorted(self.counts.owned.items()))
        by_number = {candidate.number: candidate for best in self._best for _, _, candidate in best}
        seen, distinct = OwnedPapers(), []
        for _, candidate in sorted(by_number.items()):
            if copy := seen.find_copy(candidate.paper):
                self.counts.repeated += 1
                self._leave_out(candidate.paper, REPEATED, copy[1])
            else:
                seen.add(candidate.paper)
                distinct.append(candidate)
        return distinct

    def _is_known(self, paper: Paper) -> bool:
        if copy := self._owned.find_copy(paper):
            self._leave_out_owned(paper, *copy)
            return True
        for reason, papers in self._hidden.items():
            if copy := papers.find_copy(paper):
                setattr(self.counts, reason, getattr(self.counts, reason) + 1)
                self._leave_out(paper, reason, copy[1])
                return True
        return False

    def _leave_out_owned(self, paper: Paper, reason: str, own: Paper) -> None:
        self.counts.owned[reason] = self.counts.owned.get(reason, 0) + 1
        self._leave_out(paper, reason, own)

    def _leave_out(self, paper: Paper, reason: str, copy: Paper) -> None:
        self.left_out.append(LeftOut(paper.id, paper.title, paper.year, find_doi(paper), reason, copy.id, copy.title))


def list_years(papers: Sequence[Paper]) -> Doubles:
    """Return the years of papers, NaN for none."""
    return np.array([np.nan if paper.year is None else paper.year for paper in papers], np.float64)


class OwnedPapers:
    """Papers by id, ids of other systems and title."""

    def __init__(self, papers: Iterable[Paper] = ()) -> None:
        self._by_key: dict[tuple[str, str], list[tuple[PaperIdentity, Paper]]] = {}
        for paper in papers:
            self.add(paper)

    def add(self, paper: Paper) -> None:
        """Add one paper."""
        identity = identify(paper)
        for key in _list_keys(paper):
            self._by_key.setdefault(key, []).append((identity, paper))

    def find_copy(self, paper: Paper) -> tuple[str, Paper] | None:
        """Return by what a paper is owned, `id`, a system such as `doi`, or `title`, and the own paper; else None.

        An id counts where nothing tells the two papers apart, a title as in `find_duplicates`.
        """
        identity: PaperIdentity | None = None
        for kind, key in _list_keys(paper):
            for other, own in self._by_key.get((kind, key), ()):
                identity = identity or identify(paper)
                is_copy = {"id": is_same_paper, "title": is_same_title}.get(kind)  # ids of other systems are enough
                if is_copy is None or is_copy(identity, other):
                    return kind, own
        return None


def is_near_copy(paper: Paper, other: Paper) -> bool:
    """Return whether two papers have nearly the same text, or title where an abstract is missing.

    Neither has anything that tells them apart: an identifier, a number in the title, the word "Correction".
    """
    one, two = identify(paper), identify(other)
    if one.apart(two):
        return False
    texts = [normalize_words(text.abstract) for text in (paper, other)]
    if min(map(len, texts)) >= MIN_TEXT_WORDS:
        one_text, other_text = (
            set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)) for words in texts
        )
        return len(one_text & other_text) / len(one_text | other_text) >= MIN_SHARED_TEXT
    titles = [  # without what a catalogue may change: articles, prepositions, plurals
        {word.rstrip("s") for word in normalize_words(text.title)} - FUNCTION_WORDS for text in (paper, other)
    ]
    return one.long and two.long and titles[0] == titles[1] and may_share_source(one, two)


def _list_keys(paper: Paper) -> list[tuple[str, str]]:
    """Return the names by which a paper can be found again: ids of other systems, its id, its title's letters."""
    keys = [*list_ids(paper).items(), ("id", paper.id)]
    title = "".join(normalize_words(paper.title))
    if title and title not in GENERIC_TITLES:
        keys.append(("title", title))
    return keys

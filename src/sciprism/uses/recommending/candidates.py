"""The best papers of a stream: overall, and of each interest."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sciprism.arrays import Doubles, Floats
from sciprism.papers.records import Paper
from sciprism.uses.recommending.owned_papers import NEAR_COSINE, OwnedPapers, is_near_copy
from sciprism.uses.recommending.paper_sources import PaperBlock, PaperSource
from sciprism.uses.recommending.profile import LibraryProfile, Relevance
from sciprism.uses.recommending.shared_space import normalize

RETAINED = 300
"""Papers retained overall and of each interest, at least."""
PER_RESULT = 4
"""Papers retained for each one that is asked for."""
NEAR_COPY = "near-duplicate"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new paper that may be recommended: its number in the order read, and its vector (d,) of length 1.

    source, row: where the fields are that a block of a collection has not.
    """

    number: int
    paper: Paper
    vector: Floats
    source: PaperSource
    row: int

    def complete(self) -> Paper:
        """Return the paper with all its fields."""
        return self.source.complete(self.paper, self.row)


@dataclass(slots=True)
class CandidateCounts:
    """Counts of new papers. owned: by what they were found in the library.

    Near-duplicates and repeated papers are counted among the best papers alone: the others are not looked at closely.
    """

    read: int = 0
    without_abstract: int = 0
    unwanted: int = 0
    repeated: int = 0
    owned: Counter[str] = field(default_factory=Counter)


class CandidatePool:
    """The best new papers so far: memory depends on how many are asked for, not on how many are read.

    own: the papers of the library, in the rows of the profile. unwanted: those that are not to be shown.
    """

    def __init__(self, profile: LibraryProfile, own: Sequence[Paper], unwanted: Sequence[Paper], k: int) -> None:
        self.profile, self.own = profile, own
        self.counts = CandidateCounts()
        self._known, self._unwanted = OwnedPapers(own), OwnedPapers(unwanted)
        size = max(RETAINED, PER_RESULT * k)
        self._overall = _Best(size)
        self._inside = [_Best(size) for _ in profile.members]

    def add(self, block: PaperBlock) -> None:
        """Score the papers of a block, and retain those among the best; count those that are known."""
        first = self.counts.read
        self.counts.read += len(block.papers)
        self.counts.without_abstract += block.without_abstract
        new = [i for i, paper in enumerate(block.papers) if not self._is_known(paper)]
        papers = [block.papers[i] for i in new]
        vectors = normalize(block.vectors[new])
        found = self.profile.score(vectors, list_years(papers))
        inside = [best.floor for best in self._inside]
        floors = np.array(inside)[found.interest] if new else np.empty(0)
        good = (found.overall > self._overall.floor) | (found.inside > floors)
        for place in np.flatnonzero(good).tolist():
            row = block.rows[new[place]]
            vector = vectors[place].copy()  # a view would hold its whole block in memory
            candidate = Candidate(first + new[place], papers[place], vector, block.source, row)
            own = self.own[found.own[place]]
            if found.nearest[place] >= NEAR_COSINE and is_near_copy(candidate.complete(), own):
                self.counts.owned[NEAR_COPY] += 1
            else:
                self._retain(candidate, found, place)

    def list_best(self) -> list[Candidate]:
        """Return the retained papers, each once, in the order read."""
        pools = (self._overall, *self._inside)
        found = {candidate.number: candidate for pool in pools for candidate in pool.candidates()}
        seen, distinct = OwnedPapers(), []
        for _, candidate in sorted(found.items()):
            if seen.find_reason(candidate.paper):
                self.counts.repeated += 1
            else:
                seen.add(candidate.paper)
                distinct.append(candidate)
        return distinct

    def _is_known(self, paper: Paper) -> bool:
        if reason := self._known.find_reason(paper):
            self.counts.owned[reason] += 1
        elif self._unwanted.find_reason(paper):
            self.counts.unwanted += 1
            return True
        return bool(reason)

    def _retain(self, candidate: Candidate, found: Relevance, place: int) -> None:
        self._overall.add(float(found.overall[place]), candidate)
        if found.fits[place]:
            self._inside[found.interest[place]].add(float(found.inside[place]), candidate)


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


OnProgress = Callable[[str, int, int | None], None]
"""Is told the work, how many papers are done, and of how many (None: unknown)."""

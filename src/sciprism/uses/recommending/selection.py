"""Choose the list from its candidates: relevance, diversity, and a share for each interest."""

from __future__ import annotations

import numpy as np

from sciprism.arrays import Doubles
from sciprism.uses.recommending.profile import LibraryProfile, Relevance
from sciprism.uses.recommending.settings import RecommendSettings

BEHIND = 0.5
"""Papers by which an interest must be behind its share before its next one is taken."""


def choose_papers(
    profile: LibraryProfile, vectors: Doubles, years: Doubles, settings: RecommendSettings
) -> tuple[list[int], Relevance]:
    """Return the rows of the papers to recommend, in the order of the list, and the relevance of all.

    vectors: (c, d) of length 1, in double precision, so that the order is the same on every machine. years: (c,).
    """
    relevance = profile.score(vectors, years)
    shares = _share_out(profile.sizes.astype(np.float64), settings.balance)
    return _ListSelection(vectors, relevance, shares, settings.diversity).choose(settings.k), relevance


def _share_out(sizes: Doubles, balance: float) -> Doubles:
    """Return the share of the list that each interest has: balance times the square roots of the sizes, (i,)."""
    roots = np.sqrt(sizes)
    shares: Doubles = balance * roots / roots.sum()
    return shares


class _ListSelection:
    """Chooses papers one by one from candidates (c,) with vectors (c, d) of length 1.

    The next paper has the highest (1 - diversity) * relevance - diversity * cosine to the nearest paper chosen before
    (maximal marginal relevance, Carbonell and Goldstein 1998). Where an interest has fewer papers than its share of
    the list so far, the next one is its best, by the similarity to its own papers alone; an interest without a paper
    that fits loses its share.
    """

    def __init__(self, vectors: Doubles, relevance: Relevance, shares: Doubles, diversity: float) -> None:
        self._vectors, self._relevance, self._shares, self._diversity = vectors, relevance, shares, diversity
        self._left = np.ones(len(vectors), bool)
        self._nearest = np.zeros(len(vectors))
        self._given = np.zeros(len(shares))
        self.chosen: list[int] = []

    def choose(self, count: int) -> list[int]:
        """Return the numbers of up to `count` candidates, in the order of the list."""
        while len(self.chosen) < count and self._left.any():
            self._take(self._find_next())
        return self.chosen

    def _find_next(self) -> int:
        behind = self._shares * (len(self.chosen) + 1) - self._given
        for interest in np.argsort(-behind, kind="stable"):
            if behind[interest] < BEHIND:
                break
            allowed = self._left & self._relevance.fits & (self._relevance.interest == interest)
            if allowed.any():
                return self._find_best(self._relevance.inside, allowed)
        return self._find_best(self._relevance.overall, self._left)

    def _find_best(self, scores: Doubles, allowed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        """Return the best of the allowed candidates, of equal ones the first."""
        values = (1 - self._diversity) * scores - self._diversity * self._nearest
        return int(np.where(allowed, values, -np.inf).argmax())

    def _take(self, candidate: int) -> None:
        similarities = self._vectors @ self._vectors[candidate]
        self._nearest = similarities if not self.chosen else np.maximum(self._nearest, similarities)
        self._left[candidate] = False
        self._given[self._relevance.interest[candidate]] += 1
        self.chosen.append(candidate)

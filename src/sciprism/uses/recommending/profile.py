"""How relevant new papers are to a library, and the list of those to recommend: relevant, diverse, of all interests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.uses.recommending.settings import RecommendSettings

EXPONENT = 1.5
"""Above 1, near own papers count more than far ones; chosen on users' libraries (results/user_libraries.json)."""
CELLS = 1 << 22  # similarities in memory at once
NO_YEAR = 0.5  # what age counts for a paper without a year: as one of one half-life
TINY = np.finfo(np.float32).tiny
BEHIND = 0.5  # papers by which an interest must be behind its share before its next one is taken


@dataclass(frozen=True, slots=True)
class Relevance:
    """The scores of some papers (b,), best if high.

    overall: by all own papers. inside: by those of the nearest interest, whose number (from 0) is `interest`.
    fits: whether it is as near to the interest as the least near of the interest's own papers, and nearer to an own
    paper than to any unwanted one. nearest: similarity to the nearest own paper, whose row is `own`.
    """

    overall: Doubles
    inside: Doubles
    fits: NDArray[np.bool_]
    interest: Rows
    nearest: Doubles
    own: Rows


class LibraryProfile:
    """Vectors of a library (n, d), its papers' interests (n,) and vectors of unwanted papers (u, d), of length 1.

    A paper's relevance is `mean_similarity` to all own papers, minus the weighted similarity to the nearest unwanted
    paper, times 2 ** (-age / half-life). A relevance of 0 or less stays: age would raise it. centre: a part of the mean
    vector (d,) of new papers, taken off before papers are compared, so that what all of them share counts less.
    """

    def __init__(
        self,
        vectors: Floats,
        interests: Rows,
        unwanted: Floats,
        settings: RecommendSettings,
        centre: Floats | None = None,
    ) -> None:
        self.vectors, self.interests, self.unwanted = vectors, interests, unwanted
        self.centre = np.zeros(vectors.shape[1], np.float32) if centre is None else centre
        self.sizes = np.bincount(interests)
        self.members = [np.flatnonzero(interests == number) for number in range(len(self.sizes))]
        self._settings = settings
        self._own, self._disliked = self._without_centre(vectors), self._without_centre(unwanted)
        self.floors = self._find_floors()

    def score(self, vectors: NDArray[Any], years: NDArray[np.float64]) -> Relevance:
        """Score papers by their vectors (b, d) of length 1 and years (b,), NaN for none; float64 is exact.

        Blocks bound the similarities in memory.
        """
        step = max(1, CELLS // max(1, len(self.vectors) + len(self.unwanted)))
        parts = [
            self._score_block(vectors[start : start + step], years[start : start + step])
            for start in range(0, max(1, len(vectors)), step)
        ]
        return Relevance(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Relevance)))

    def measure_unwanted(self, vectors: NDArray[Any]) -> Doubles:
        """Return the cosine of each paper (b, d) with the nearest unwanted one, -1 where none is."""
        if not len(self.unwanted):
            return np.full(len(vectors), -1.0)
        return np.asarray((vectors @ self.unwanted.T.astype(vectors.dtype)).max(axis=1), np.float64)

    def _score_block(self, vectors: NDArray[Any], years: NDArray[np.float64]) -> Relevance:
        near: NDArray[Any] = vectors @ self.vectors.T.astype(vectors.dtype)
        own = near.argmax(axis=1)
        rows = np.arange(len(vectors))
        nearest = np.asarray(near[rows, own], np.float64)
        fits = self.measure_unwanted(vectors) < nearest
        centred = self._without_centre(vectors)
        similarities = raise_cosines(centred @ self._own.T.astype(vectors.dtype))
        inside = np.stack([mean_similarity(similarities[:, members]) for members in self.members], axis=1)
        interest = inside.argmax(axis=1)
        penalty = np.zeros(len(vectors))
        if len(self.unwanted):
            penalty = self._settings.unwanted_weight * (centred @ self._disliked.T.astype(vectors.dtype)).max(axis=1)
        recency = self._weigh_age(years)

        def adjust(similarity: Doubles) -> Doubles:
            scores = np.asarray(similarity, np.float64) - penalty
            return np.where(scores > 0, scores * recency, scores)

        return Relevance(
            overall=adjust(mean_similarity(similarities)),
            inside=adjust(inside[rows, interest]),
            fits=fits & (inside[rows, interest] >= self.floors[interest]),
            interest=interest,
            nearest=nearest,
            own=own,
        )

    def _without_centre(self, vectors: NDArray[Any]) -> NDArray[Any]:
        shifted = vectors - self.centre.astype(vectors.dtype) if len(vectors) else vectors
        unit: NDArray[Any] = shifted / np.maximum(np.linalg.norm(shifted, axis=1, keepdims=True), TINY)
        return unit

    def _weigh_age(self, years: NDArray[np.float64]) -> Doubles:
        half_life = self._settings.half_life
        if half_life is None:
            return np.ones(len(years))
        ages = np.maximum(self._settings.year - years, 0.0)
        return np.where(np.isnan(ages), NO_YEAR, 2.0 ** (-np.nan_to_num(ages) / half_life))

    def _find_floors(self) -> Doubles:
        """Return of each interest the least similarity of one of its papers to the others; of one paper, of any."""
        floors = np.full(len(self.members), np.nan)
        for number, rows in enumerate(self.members):
            if len(rows) < 2:
                continue
            step = max(1, CELLS // len(rows))
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                near = raise_cosines(self._own[part] @ self._own[rows].T)
                near[np.arange(len(part)), np.arange(start, start + len(part))] = 0.0  # itself
                best = mean_similarity(near) * (len(rows) / (len(rows) - 1)) ** (1 / EXPONENT)
                floors[number] = np.fmin(floors[number], best.min())
        measured = floors[~np.isnan(floors)]
        return np.where(np.isnan(floors), measured.min() if len(measured) else -np.inf, floors)


def raise_cosines(cosines: NDArray[Any]) -> NDArray[Any]:
    """Return cosines to the power of `EXPONENT`, negative ones as 0."""
    raised: NDArray[Any] = np.maximum(cosines, 0.0) ** EXPONENT
    return raised


def mean_similarity(raised: NDArray[Any]) -> Doubles:
    """Return the power mean of each row of raised cosines. (n, p) -> (n,).

    >>> mean_similarity(raise_cosines(np.array([[0.25, -1.0], [1.0, 1.0]]))).round(4)
    array([0.1575, 1.    ])
    """
    mean: Doubles = raised.mean(axis=1, dtype=np.float64) ** (1 / EXPONENT)
    return mean


def choose_papers(
    profile: LibraryProfile, vectors: Doubles, years: Doubles, settings: RecommendSettings
) -> tuple[list[int], Relevance]:
    """Return the rows of the papers to recommend, in the order of the list, and the relevance of all.

    vectors: (c, d) of length 1, in double precision, so that the order is the same on every machine. years: (c,).
    """
    relevance = profile.score(vectors, years)
    roots = np.sqrt(profile.sizes.astype(np.float64))
    shares = settings.balance * roots / roots.sum()  # of the list, for each interest
    return _ListSelection(vectors, relevance, shares, settings.diversity).choose(settings.k), relevance


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
            candidate = self._find_next()
            similarities = self._vectors @ self._vectors[candidate]
            self._nearest = similarities if not self.chosen else np.maximum(self._nearest, similarities)
            self._left[candidate] = False
            self._given[self._relevance.interest[candidate]] += 1
            self.chosen.append(candidate)
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

"""What a library says of a new paper: how near it is, to which interest, and how near to what is unwanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.uses.matching import mean_of_best
from sciprism.uses.recommending.settings import RecommendSettings

CELLS = 1 << 22
"""Similarities in memory at once."""
NO_YEAR = 0.5
"""What age counts for a paper without a year: as one of one half-life."""


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

    A paper's relevance is its mean cosine to the `neighbours` nearest own papers, minus the weighted cosine to the
    nearest unwanted paper, times 2 ** (-age / half-life). A relevance of 0 or less stays: age would raise it.
    """

    def __init__(self, vectors: Floats, interests: Rows, unwanted: Floats, settings: RecommendSettings) -> None:
        self.vectors, self.interests, self.unwanted = vectors, interests, unwanted
        self.sizes = np.bincount(interests)
        self.members = [np.flatnonzero(interests == number) for number in range(len(self.sizes))]
        self._settings = settings
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
        return Relevance(
            overall=np.concatenate([part.overall for part in parts]),
            inside=np.concatenate([part.inside for part in parts]),
            fits=np.concatenate([part.fits for part in parts]),
            interest=np.concatenate([part.interest for part in parts]),
            nearest=np.concatenate([part.nearest for part in parts]),
            own=np.concatenate([part.own for part in parts]),
        )

    def measure_unwanted(self, vectors: NDArray[Any]) -> Doubles:
        """Return the cosine of each paper (b, d) with the nearest unwanted one, -1 where none is."""
        if not len(self.unwanted):
            return np.full(len(vectors), -1.0)
        return np.asarray((vectors @ self.unwanted.T.astype(vectors.dtype)).max(axis=1), np.float64)

    def _score_block(self, vectors: NDArray[Any], years: NDArray[np.float64]) -> Relevance:
        similarities = vectors @ self.vectors.T.astype(vectors.dtype)
        nearest = self._settings.neighbours
        inside = np.stack([mean_of_best(similarities[:, rows], nearest) for rows in self.members], axis=1)
        interest = inside.argmax(axis=1)
        own = similarities.argmax(axis=1) if len(vectors) else np.empty(0, np.int64)
        rows = np.arange(len(vectors))
        own_similarity = np.asarray(similarities[rows, own], np.float64)
        unwanted = self.measure_unwanted(vectors)
        penalty = self._settings.unwanted_weight * unwanted if len(self.unwanted) else np.zeros(len(vectors))
        recency = self._weigh_age(years)

        def adjust(found: Doubles) -> Doubles:
            return _times(np.asarray(found, np.float64) - penalty, recency)

        return Relevance(
            overall=adjust(mean_of_best(similarities, nearest)),
            inside=adjust(inside[rows, interest]),
            fits=(inside[rows, interest] >= self.floors[interest]) & (unwanted < own_similarity),
            interest=interest,
            nearest=own_similarity,
            own=own,
        )

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
                near: NDArray[Any] = self.vectors[part] @ self.vectors[rows].T
                near[np.arange(len(part)), np.arange(start, start + len(part))] = -np.inf  # itself
                best = mean_of_best(near, min(self._settings.neighbours, len(rows) - 1))
                floors[number] = np.fmin(floors[number], best.min())
        known = floors[~np.isnan(floors)]
        return np.where(np.isnan(floors), known.min() if len(known) else -np.inf, floors)


def _times(scores: Doubles, weights: Doubles) -> Doubles:
    return np.where(scores > 0, scores * weights, scores)

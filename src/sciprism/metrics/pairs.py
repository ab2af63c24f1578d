"""Pairwise order: whether scores rank pairs of papers as their rater does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.metrics.alignment import check_aligned, check_finite


@dataclass(frozen=True, slots=True, eq=False)
class PairOrder:
    """Each rater's score and the weight of all pairs behind it, both (r,).

    unordered: raters whose ratings are all equal; they are dropped.
    """

    raters: tuple[str, ...]
    values: Doubles
    weights: Doubles
    unordered: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Return the weighted mean of the raters' scores: 1 - the loss over all pairs; NaN without a pair."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else float("nan")


def pair_order(raters: Sequence[str], ratings: ArrayLike, scores: ArrayLike) -> PairOrder:
    """Score 1 - loss for each rater, from aligned raters, ratings and scores of papers, each (n,).

    A pair of a rater's papers is weighted by the difference of its ratings. It is lost if the scores reverse
    it, half lost if they tie (loss of Stelmakh et al., A Gold Standard Dataset for the Reviewer Assignment
    Problem, 2023). Random scores give 0.5.
    """
    rated, scored = check_finite(ratings, "ratings"), check_finite(scores, "scores")
    check_aligned(raters, rated, "raters and ratings")
    check_aligned(rated, scored, "ratings and scores")
    rows: dict[str, list[int]] = {}
    for row, rater in enumerate(raters):
        rows.setdefault(rater, []).append(row)
    counts: dict[str, tuple[float, float]] = {}  # weight of correctly ordered pairs, half of the tied; of all
    for rater, own in rows.items():
        weights = np.maximum(rated[own, None] - rated[None, own], 0.0)
        right = (1 + np.sign(scored[own, None] - scored[None, own])) / 2
        counts[rater] = float((weights * right).sum()), float(weights.sum())
    ordered = {rater: pair for rater, pair in counts.items() if pair[1] > 0}
    hits, totals = np.array(list(ordered.values()), dtype=np.float64).reshape(-1, 2).T
    return PairOrder(tuple(ordered), hits / totals, totals, tuple(rater for rater in counts if rater not in ordered))

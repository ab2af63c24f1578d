"""Order of pairs: does a score rank what a rater finds better above what the rater finds worse?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.metrics.alignment import check_aligned, finite


@dataclass(frozen=True, slots=True, eq=False)
class PairOrder:
    """Each rater's score and the weight of all pairs it rests on, both (r,).

    unordered: raters who rated nothing above anything, left out.
    """

    raters: tuple[str, ...]
    values: Doubles
    weights: Doubles
    unordered: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The raters' scores averaged by weight: 1 - the loss over all pairs; NaN without a pair."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else float("nan")


def pair_order(raters: Sequence[str], ratings: ArrayLike, scores: ArrayLike) -> PairOrder:
    """Score 1 - loss for each rater, from aligned raters, ratings and scores of papers, each (n,).

    A pair of one rater's papers with different ratings weighs their difference. It is lost where the scores
    order it the other way, half lost where they tie (loss of Stelmakh et al., A Gold Standard Dataset for
    the Reviewer Assignment Problem, 2023). A random score is worth 0.5.
    """
    rated, scored = finite(ratings, "ratings"), finite(scores, "scores")
    check_aligned(raters, rated, "raters and ratings")
    check_aligned(rated, scored, "ratings and scores")
    rows: dict[str, list[int]] = {}
    for row, rater in enumerate(raters):
        rows.setdefault(rater, []).append(row)
    judged = {rater: _won(rated[own], scored[own]) for rater, own in rows.items()}
    ordered = {rater: pair for rater, pair in judged.items() if pair[1] > 0}
    won, weights = np.array(list(ordered.values()), dtype=np.float64).reshape(-1, 2).T
    return PairOrder(
        tuple(ordered), won / weights, weights, tuple(rater for rater in judged if rater not in ordered)
    )


def _won(ratings: Doubles, scores: Doubles) -> tuple[float, float]:
    """Return the weight of pairs in the right order (half of the tied) and that of all pairs."""
    weights = np.maximum(ratings[:, None] - ratings[None, :], 0.0)
    right = (1 + np.sign(scores[:, None] - scores[None, :])) / 2
    return float((weights * right).sum()), float(weights.sum())

"""Scores of recommendations by what people clicked, adjusted for where it was shown (SciDocs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.metrics.alignment import check_aligned, finite


@dataclass(frozen=True, slots=True, eq=False)
class ClickScores:
    """For each click (n,): gain 1 / log2(2 + above), 1 where nothing stands above, weight 1 / propensity.

    above: papers of the same list that score higher; a tie counts half.
    """

    gain: Doubles
    first: Doubles
    weights: Doubles

    @property
    def ndcg(self) -> float:
        """The adjusted nDCG: the gains averaged by weight."""
        return float(np.average(self.gain, weights=self.weights))

    @property
    def p_at_1(self) -> float:
        """The adjusted P@1: the share of clicks that came first, by weight."""
        return float(np.average(self.first, weights=self.weights))


def click_scores(shown: Sequence[ArrayLike], clicked: Sequence[int], propensities: ArrayLike) -> ClickScores:
    """Score each click: shown, the scores of the papers in the order of display; clicked, the place from 0.

    propensities: the chance, by place, that a paper there is looked at; rare looks weigh more.
    Raises InputError where a place lies outside its list or has no propensity above 0.
    """
    check_aligned(shown, clicked, "lists and clicks")
    if not len(shown):
        raise InputError("there is no click; nothing can be scored")
    chances = finite(propensities, "propensities")
    above = np.array(
        [_above(scores, place, n) for n, (scores, place) in enumerate(zip(shown, clicked, strict=True))]
    )
    if max(clicked) >= len(chances) or not (chances[list(clicked)] > 0).all():
        raise InputError(f"a clicked place has no propensity above 0; {len(chances)} places have one given")
    return ClickScores(1 / np.log2(2 + above), (above == 0).astype(np.float64), 1 / chances[list(clicked)])


def _above(scores: ArrayLike, place: int, number: int) -> float:
    values = finite(scores, f"click {number + 1}, scores")
    if not 0 <= place < len(values):
        raise InputError(f"click {number + 1}: place {place} is outside the list of {len(values)} papers")
    higher, equal = (values > values[place]).sum(), (values == values[place]).sum() - 1
    return float(higher + equal / 2)

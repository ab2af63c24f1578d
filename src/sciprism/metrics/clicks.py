"""Click metrics of recommendations, adjusted for the position of the clicked paper (SciDocs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.metrics.alignment import check_aligned, check_finite


@dataclass(frozen=True, slots=True, eq=False)
class ClickScores:
    """For each click (n,): gain 1 / log2(2 + above), 1 if above is 0 (else 0), weight 1 / propensity.

    above: number of papers of the same list that score higher; a tie counts half. The weighted means of gain
    and first are the adjusted nDCG and P@1.
    """

    gain: Doubles
    first: Doubles
    weights: Doubles


def click_scores(shown: Sequence[ArrayLike], clicked: Sequence[int], propensities: ArrayLike) -> ClickScores:
    """Score each click. shown: scores of the papers in the order of display; clicked: position from 0.

    propensities: the probability, by position, that a paper is examined; rare ones weigh more. InputError if
    a position is outside its list or has no propensity above 0.
    """
    check_aligned(shown, clicked, "lists and clicks")
    if not len(shown):
        raise InputError("there is no click; nothing can be scored")
    by_position = check_finite(propensities, "propensities")
    above = np.zeros(len(shown))
    for number, (scores, at) in enumerate(zip(shown, clicked, strict=True)):
        values = check_finite(scores, f"click {number + 1}, scores")
        if not 0 <= at < len(values):
            raise InputError(f"click {number + 1}: position {at} is outside the list of {len(values)} papers")
        higher, equal = (values > values[at]).sum(), (values == values[at]).sum() - 1
        above[number] = higher + equal / 2
    if max(clicked) >= len(by_position) or not (by_position[list(clicked)] > 0).all():
        raise InputError(f"a clicked position has no propensity above 0; {len(by_position)} are given")
    return ClickScores(1 / np.log2(2 + above), (above == 0).astype(np.float64), 1 / by_position[list(clicked)])

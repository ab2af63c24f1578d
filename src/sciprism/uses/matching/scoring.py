"""How a reviewer's papers become one score: best, mean of the top k, percentile; weights of age and authorship."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles
from sciprism.errors import InputError

_FORM = re.compile(r"best|mean-([1-9]\d*)|percentile-(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Scoring:
    """A rule that turns the weighted cosines of a reviewer's papers into one score.

    top: mean of so many highest ones (1: the best), 0 where percentile decides. percentile: 0 to 100, interpolated
    as numpy does.

    >>> Scoring.parse("mean-3")
    Scoring(top=3, percentile=0.0)
    """

    top: int = 3
    percentile: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Scoring:
        """Parse `best`, `mean-3` or `percentile-75`; InputError for another text."""
        found = _FORM.fullmatch(text.strip())
        if found is None or float(found[2] or 0) > 100:
            raise InputError(
                f"scoring {text!r} is none of best, mean-K and percentile-P, such as mean-3 or percentile-75"
            )
        if found[2] is not None:
            return cls(0, float(found[2]))
        return cls(int(found[1] or 1))

    def depth(self, papers: int) -> int:
        """Return how many of the highest values of `papers` decide the score."""
        if self.top:
            return min(self.top, papers)
        return min(int((papers - 1) * (1 - self.percentile / 100)) + 2, papers)

    def reduce(self, similarities: Doubles) -> Doubles:
        """Return the score of each row of weighted cosines, (n, p) -> (n,)."""
        depth = self.depth(similarities.shape[1])
        best = -np.sort(-similarities, axis=1)[:, :depth]
        return best @ self.shares(similarities.shape[1])

    def shares(self, papers: int) -> Doubles:
        """Return the share of each of the highest values in the score, (depth,); they sum to 1."""
        depth = self.depth(papers)
        if self.top:
            return np.full(depth, 1 / depth)
        shares = np.zeros(depth)
        place = (papers - 1) * (1 - self.percentile / 100)
        shares[int(place)] = 1 - (place - int(place))
        if place > int(place):
            shares[int(place) + 1] = place - int(place)
        return shares

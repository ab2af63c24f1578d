"""What an assignment must satisfy: reviewers per submission, loads, forbidden and locked pairs, group minima."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Integers, Rows
from sciprism.uses.matching.candidates import ForbiddenPairs

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class GroupMinimum:
    """At least `minimum` reviewers of each submission belong to a group. members: (reviewers,)."""

    name: str
    members: Mask
    minimum: int


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What every assignment satisfies, whatever its scores.

    needs: reviewers of each submission (n,). least, most: submissions of each reviewer (m,). locked: pairs
    (submissions, reviewers) that are part of every assignment. paper_ids, reviewer_ids: what messages call them.
    """

    paper_ids: list[str]
    reviewer_ids: list[str]
    needs: Integers
    least: Integers
    most: Integers
    forbidden: ForbiddenPairs
    locked: tuple[Rows, Rows] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    groups: tuple[GroupMinimum, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of submissions and reviewers."""
        return len(self.needs), len(self.most)

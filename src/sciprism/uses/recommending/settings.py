"""What a recommendation can be asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sciprism.errors import InputError

NEIGHBOURS = 5
"""Own papers whose mean similarity is a paper's relevance; chosen on dev authors (results/recommending.json)."""
BALANCE = 0.5
DIVERSITY = 0.1
UNWANTED_WEIGHT = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendSettings:
    """How papers are ranked; a setting out of its range is an InputError.

    k: papers to recommend. neighbours: own papers whose mean similarity is a paper's relevance. interests: groups of
    the library; None finds their number. balance: the part of the list, 0 to 1, that is shared out among the
    interests by the square root of their sizes, so that small ones have a place; the rest goes by relevance alone.
    diversity: from 0, relevance alone, up to below 1: how much similarity to a paper higher in the list counts
    against a paper (maximal marginal relevance). unwanted_weight: how much similarity to the nearest unwanted paper
    counts. half_life: years after which a paper's relevance counts half; None: age does not count. now: the year from
    which ages are counted; None: this year.
    """

    k: int = 50
    neighbours: int = NEIGHBOURS
    interests: int | None = None
    balance: float = BALANCE
    diversity: float = DIVERSITY
    unwanted_weight: float = UNWANTED_WEIGHT
    half_life: float | None = None
    now: int | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}; ask for at least one paper")
        if self.neighbours < 1:
            raise InputError(f"{self.neighbours} neighbours: a relevance needs at least one own paper")
        if self.interests is not None and self.interests < 1:
            raise InputError(f"{self.interests} interests: ask for at least one, or for none to find their number")
        if not 0 <= self.balance <= 1:
            raise InputError(f"balance is {self.balance}; give a part of the list, from 0 to 1")
        if not 0 <= self.diversity < 1:
            raise InputError(f"diversity is {self.diversity}; give a weight from 0 to below 1")
        if self.unwanted_weight < 0:
            raise InputError(f"the unwanted weight is {self.unwanted_weight}; give 0 or more")
        if self.half_life is not None and self.half_life <= 0:
            raise InputError(f"the half-life is {self.half_life} years; give a positive number")

    @property
    def year(self) -> int:
        """Return the year from which ages are counted."""
        return datetime.now(UTC).year if self.now is None else self.now

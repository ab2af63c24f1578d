"""What a recommendation can be asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sciprism.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendSettings:
    """How papers are ranked; a setting out of its range is an InputError.

    Fields with a text are options of `sciprism recommend`; 0 stands for None. interests: groups of the own papers;
    None finds their number. balance: interests share their part by the square root of their sizes; the rest of the list
    goes by relevance alone. unwanted_weight: how much nearness to unwanted papers counts. diversity: how much
    similarity to a paper higher in the list counts against a paper (maximal marginal relevance). now: the year from
    which ages are counted; None: this year.
    """

    k: Annotated[int, "Papers to recommend.", "-k"] = 50
    interests: int | None = None
    balance: Annotated[float, "Part of the list, 0 to 1, shared among interests: small ones too."] = 0.25
    diversity: Annotated[float, "From 0, relevance alone, to below 1: fewer papers of one kind."] = 0.0
    unwanted_weight: float = 0.05
    half_life: Annotated[float | None, "Years after which a paper counts half; 0: its age does not count."] = None
    now: int | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}; ask for at least one paper")
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

"""What a recommendation can be asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated

from sciprism.errors import InputError

_RANGES = {
    "k": (1, inf),
    "balance": (0, 1),
    "diversity": (0, 0.999),
    "half_life": (0.001, inf),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendSettings:
    """How papers are ranked; a setting out of its range is an InputError.

    They are options of `sciprism recommend`; 0 stands for None. balance: interests share their part by the square root
    of their sizes; the rest of the list goes by relevance alone. diversity: how much similarity to a paper higher in
    the list counts against a paper (maximal marginal relevance).
    """

    k: Annotated[int, "Papers to recommend.", "-k"] = 50
    balance: Annotated[float, "Share of the list, 0 to 1, that is divided among interests."] = 0.25
    diversity: Annotated[float, "0 (relevance alone) to below 1 (fewer similar papers)."] = 0.0
    half_life: Annotated[float | None, "Years after which a paper counts half; 0: ignore age."] = None

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise InputError(f"{name} is {value}; give a number from {least} to {most}")

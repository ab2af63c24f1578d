"""Verdicts: what an interval of a difference says of a claim, and how answers combine.

held                       the whole interval is on the claimed side, and the paper's figure is not above it
smaller than the paper's   the whole interval is on the claimed side, and the paper's figure is above it
no difference seen         the interval includes zero and excludes the paper's figure
undecided                  the interval includes zero and the paper's figure, or the paper prints none
opposite                   the whole interval is on the other side
not tested                 there is no result that could answer, and the reason is given
"""

from __future__ import annotations

from collections.abc import Collection
from math import isnan
from typing import Literal, get_args

Direction = Literal["above", "below", "not below", "not above", "within"]
Verdict = Literal[
    "held", "smaller than the paper's", "no difference seen", "undecided", "opposite", "not tested"
]  # fmt: skip
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SUPPORTS: tuple[Verdict, ...] = ("held", "smaller than the paper's")
CONTRADICTS: tuple[Verdict, ...] = ("opposite", "no difference seen")
WEAKEST_FIRST: tuple[Verdict, ...] = (
    "opposite",
    "no difference seen",
    "not tested",
    "undecided",
    "smaller than the paper's",
    "held",
)
"""How answers that must all be given decide: one that contradicts the claim before one that is missing."""
STRONGEST_FIRST: tuple[Verdict, ...] = (
    "held",
    "smaller than the paper's",
    "undecided",
    "not tested",
    "no difference seen",
    "opposite",
)
"""How answers of which one is enough decide."""


def decide(
    interval: tuple[float, float],
    direction: Direction = "above",
    *,
    margin: float = 0.0,
    figure: float | None = None,
    neutral: float = 0.0,
) -> Verdict:
    """Return the verdict on one difference from its interval (low, high); the sign alone never decides.

    direction: "above" or "below" the neutral value, compared with the paper's figure if it prints one; "not
    below" minus the margin, "not above" the margin, "within" the margin both ways: these have no figure.
    An interval without limits (NaN) leaves it undecided.
    """
    low, high = interval
    if isnan(low) or isnan(high):
        return "undecided"
    if direction in ("below", "not above"):
        mirrored: Direction = "above" if direction == "below" else "not below"
        opposite = None if figure is None else -figure
        return decide((-high, -low), mirrored, margin=margin, figure=opposite, neutral=-neutral)
    if direction == "above":
        return _compare(low - neutral, high - neutral, None if figure is None else figure - neutral)
    if low > -margin and (direction == "not below" or high < margin):
        return "held"
    outside = high <= -margin or (direction == "within" and low >= margin)
    return "opposite" if outside else "undecided"


def _compare(low: float, high: float, figure: float | None) -> Verdict:
    """Return the verdict on a difference that is claimed to be positive."""
    if low > 0:
        return "smaller than the paper's" if figure is not None and figure > high else "held"
    if high < 0:
        return "opposite"
    return "undecided" if figure is None or low <= figure <= high else "no difference seen"


def combine_all(found: Collection[Verdict]) -> Verdict:
    """Combine answers that must all be given: the weakest decides; without any, not tested."""
    return next((verdict for verdict in WEAKEST_FIRST if verdict in found), "not tested")


def combine_any(found: Collection[Verdict]) -> Verdict:
    """Combine answers of which one is enough: the strongest decides; without any, not tested."""
    return next((verdict for verdict in STRONGEST_FIRST if verdict in found), "not tested")


def combine_mixed(intervals: Collection[tuple[float, float]], found: Collection[Verdict]) -> Verdict:
    """Combine differences of which some must be positive and some negative.

    Opposite: all are on one side. No difference seen: every answer says so.
    """
    positive, negative = any(low > 0 for low, _ in intervals), any(high < 0 for _, high in intervals)
    if positive and negative:
        return "held"
    if not intervals:
        return "not tested"
    if all(low > 0 for low, _ in intervals) or all(high < 0 for _, high in intervals):
        return "opposite"
    return "no difference seen" if set(found) == {"no difference seen"} else "undecided"

"""What a claim is: questions that contrasts of results answer, and how an interval decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from sciprism.errors import InputError

Direction = Literal["above", "below", "not below", "within"]
Verdict = Literal["held", "not held", "undecided"]
DIRECTIONS: tuple[Direction, ...] = ("above", "below", "not below", "within")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contrast: a model by key (`instruction+co-view`: under that instruction,
    `codes@search`: with the vectors of that format) and its tasks.

    group: of `Shape.groups`. variant: the ending of the tasks' names, "" for the tasks themselves.
    """

    model: str
    group: str
    variant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Ours minus the other side over a group's average, and what a claim says of it.

    direction: "above" and "below" a margin, "not below" minus the margin, "within" the margin either way.
    margin: in the unit of the difference (0.01: one point of a score, or one per cent if relative).
    """

    name: str
    ours: Side
    other: Side
    direction: Direction = "above"
    margin: float = 0.0
    relative: bool = False
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS or self.margin < 0:
            raise InputError(f"{self.name}: {self.direction!r} by {self.margin} is nothing to decide")


@dataclass(frozen=True, slots=True)
class Question:
    """Contrasts of which one is enough. Not decisive: shown beside the claim, which does not rest on it.

    With m contrasts to choose from, each is judged by an interval of 1 - 0.05 / m (Bonferroni), so that the
    chance to find one of them by luck stays 5%.
    """

    contrasts: tuple[Contrast, ...]
    decisive: bool = True

    @property
    def level(self) -> float:
        """Return the level of its intervals."""
        return 1 - 0.05 / len(self.contrasts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a paper says, its own figure, what we put to the test, and the questions that must all be held.

    tables: the tables of `sciprism reproduce` that score what the questions need. data: on which of the
    paper's shapes, by name; their results decide. command: where something else measures it; its record is
    written by that. measured: findings of that command which the claim rests on beside its questions.
    """

    id: str
    paper: str
    text: str
    figure: str
    test: str
    questions: tuple[Question, ...] = ()
    tables: tuple[str, ...] = ()
    data: str = "open"
    command: str = ""
    measured: tuple[str, ...] = ()


def against(
    ours: str,
    other: str,
    group: str,
    *,
    direction: Direction = "above",
    margin: float = 0.0,
    relative: bool = False,
) -> Contrast:
    """Return a contrast of two models over one group."""
    return Contrast(
        name=f"{ours} {direction} {other}, {group}",
        ours=Side(model=ours, group=group),
        other=Side(model=other, group=group),
        direction=direction,
        margin=margin,
        relative=relative,
    )


def all_of(*contrasts: Contrast) -> tuple[Question, ...]:
    """Return questions that are all asked, one for each contrast."""
    return tuple(Question((contrast,)) for contrast in contrasts)


def beside(*contrasts: Contrast) -> tuple[Question, ...]:
    """Return questions whose answers are shown and decide nothing."""
    return tuple(Question((contrast,), decisive=False) for contrast in contrasts)


def any_of(*contrasts: Contrast) -> tuple[Question, ...]:
    """Return one question that any of the contrasts answers."""
    return (Question(contrasts),)


def verdict(interval: tuple[float, float], direction: Direction = "above", margin: float = 0.0) -> Verdict:
    """Say whether an interval (low, high) of a difference holds a claim; never by the difference's sign.

    Held: all of the interval is where the claim says. Not held: all of it is elsewhere. Else, and where
    there is no interval (NaN), undecided.
    """
    low, high = interval
    if isnan(low) or isnan(high):
        return "undecided"
    if direction == "below":
        return verdict((-high, -low), "above", margin)
    if direction == "within":
        if -margin < low and high < margin:
            return "held"
        return "not held" if low >= margin or high <= -margin else "undecided"
    edge = margin if direction == "above" else -margin
    if low > edge:
        return "held"
    return "not held" if high <= edge else "undecided"


def any_held(verdicts: Sequence[Verdict]) -> Verdict:
    """Unite the answers to one question: held if one is, not held if none can be."""
    if "held" in verdicts:
        return "held"
    return "not held" if verdicts and all(found == "not held" for found in verdicts) else "undecided"


def all_held(verdicts: Iterable[Verdict]) -> Verdict:
    """Unite the questions of a claim: not held if one is not, held if all are."""
    found = list(verdicts)
    if "not held" in found:
        return "not held"
    return "held" if found and all(each == "held" for each in found) else "undecided"

"""Claims: questions that contrasts of scores answer, and how an interval decides them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import isnan
from typing import Literal

from sciprism.errors import InputError

Direction = Literal["above", "below", "not below", "within"]
Verdict = Literal["held", "not held", "undecided"]
DIRECTIONS: tuple[Direction, ...] = ("above", "below", "not below", "within")


@dataclass(frozen=True, slots=True)
class ContrastSide:
    """One side of a contrast: a model and its tasks.

    model: a key; `instruction+co-view`: with that instruction, `codes@search`: with the vectors of that
    format. group: of `GroupedSuite.groups`. variant: suffix of the tasks' names, "" for the tasks themselves.
    """

    model: str
    group: str
    variant: str = ""

    def task(self, base: str) -> str:
        """Return the name of the variant of a task."""
        return f"{base}-{self.variant}" if self.variant else base


@dataclass(frozen=True, slots=True)
class ScoreContrast:
    """A difference of group averages, ours minus the other's, and its claimed direction.

    direction: "above" or "below" a margin, "not below" minus the margin, "within" the margin both ways.
    margin: in the unit of the difference (0.01: one point of a score, or 1 % if relative).
    """

    name: str
    ours: ContrastSide
    other: ContrastSide
    _: KW_ONLY
    direction: Direction = "above"
    margin: float = 0.0
    relative: bool = False
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS or self.margin < 0:
            raise InputError(f"{self.name}: unknown direction {self.direction!r} or margin {self.margin}")


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """Contrasts of which one is enough. Not decisive: shown, but without effect on the verdict.

    Each of m contrasts has an interval of 1 - 0.05 / m (Bonferroni), so that a false positive has a
    probability of 5 % at most.
    """

    contrasts: tuple[ScoreContrast, ...]
    decisive: bool = True

    @property
    def level(self) -> float:
        """Return the confidence level of its intervals."""
        return 1 - 0.05 / len(self.contrasts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim: the paper's statement and figure, our test, and the questions that must all be held.

    tables: the tables of `sciprism reproduce` with the scores for the questions. data: name of the
    `GroupedSuite` whose results decide. command: measures something else, and writes its findings to the
    record. measured: findings of that command that are decisive too.
    """

    id: str
    text: str
    figure: str
    test: str
    paper: str = ""
    questions: tuple[ClaimQuestion, ...] = ()
    tables: tuple[str, ...] = ()
    data: str = "open"
    command: str = ""
    measured: tuple[str, ...] = ()


def versus(
    ours: str,
    other: str,
    group: str,
    *,
    direction: Direction = "above",
    margin: float = 0.0,
    relative: bool = False,
) -> ScoreContrast:
    """Return a contrast of two models over one group."""
    return ScoreContrast(
        f"{ours} {direction} {other}, {group}",
        ContrastSide(ours, group),
        ContrastSide(other, group),
        direction=direction,
        margin=margin,
        relative=relative,
    )


def require_all(*contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return one decisive question per contrast."""
    return tuple(ClaimQuestion((contrast,)) for contrast in contrasts)


def show_only(*contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return questions whose answers are shown but do not decide."""
    return tuple(ClaimQuestion((contrast,), decisive=False) for contrast in contrasts)


def require_any(*contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return one question that any of the contrasts can answer."""
    return (ClaimQuestion(contrasts),)


def decide(interval: tuple[float, float], direction: Direction = "above", margin: float = 0.0) -> Verdict:
    """Return whether an interval (low, high) of a difference supports a claim; the sign alone never does.

    Held: the whole interval is in the claimed range. Not held: the whole interval is outside. Otherwise, and
    without an interval (NaN): undecided.
    """
    low, high = interval
    if isnan(low) or isnan(high):
        return "undecided"
    if direction == "below":
        return decide((-high, -low), "above", margin)
    if direction == "within":
        if -margin < low and high < margin:
            return "held"
        return "not held" if low >= margin or high <= -margin else "undecided"
    edge = margin if direction == "above" else -margin
    if low > edge:
        return "held"
    return "not held" if high <= edge else "undecided"


def any_held(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the answers to one question: held if one is, not held if all are not."""
    if "held" in verdicts:
        return "held"
    return "not held" if verdicts and all(found == "not held" for found in verdicts) else "undecided"


def all_held(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine the questions of a claim: not held if one is not, held if all are."""
    found = list(verdicts)
    if "not held" in found:
        return "not held"
    return "held" if found and all(each == "held" for each in found) else "undecided"

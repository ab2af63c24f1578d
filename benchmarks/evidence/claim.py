"""Claims: the questions that contrasts of scores answer."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from evidence.verdict import DIRECTIONS, Direction
from sciprism.errors import InputError

Rule = Literal["any", "mixed"]


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

    @property
    def key(self) -> str:
        """Return the key of the model without instruction or format."""
        return re.split("[+@]", self.model)[0]

    def label(self, other: ContrastSide) -> str:
        """Return the model, or what distinguishes it from the other side if that is the same model."""
        if self.key != other.key:
            return self.model
        differing = self.model.removeprefix(self.key)[1:] if self.model != other.model else ""
        return ", ".join(filter(None, (differing, self.variant, self.group if self.group != other.group else "")))


@dataclass(frozen=True, slots=True)
class ScoreContrast:
    """A difference of group averages, ours minus the other's, and its claimed direction.

    direction: "above" or "below" zero, "not below" minus the margin, "within" the margin both ways. margin
    and figure, the paper's difference, None if it prints none: in the unit of the difference (0.01: one point
    of a score, or 1 % if relative).
    """

    name: str
    ours: ContrastSide
    other: ContrastSide
    _: KW_ONLY
    direction: Direction = "above"
    margin: float = 0.0
    relative: bool = False
    figure: float | None = None
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS or self.margin < 0:
            raise InputError(f"{self.name}: unknown direction {self.direction!r} or margin {self.margin}")

    def has_room(self, score: float) -> bool:
        """Return whether the paper's figure above a score of the other side is a score, which is at most 1."""
        figure = self.figure or 0.0
        return (score * (1 + figure) if self.relative else score + figure) <= 1


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """Contrasts of which one is enough ("any"), or some must be positive and some negative ("mixed").

    Each of m contrasts has an interval of 1 - 0.05 / m (Bonferroni), so that a false positive has a
    probability of 5 % at most. Not decisive: shown, but without effect on the verdict. name: shown for a
    question of several contrasts.
    """

    contrasts: tuple[ScoreContrast, ...]
    decisive: bool = True
    rule: Rule = "any"
    name: str = ""

    @property
    def level(self) -> float:
        """Return the confidence level of its intervals."""
        return 1 - 0.05 / len(self.contrasts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim: the paper's statement and figure, our test, and the questions that must all be held.

    figure: of the paper, in words. tables: the tables of `sciprism reproduce` with the scores for the
    questions. data: name of the `GroupedSuite` whose results decide. command: measures something else, and
    writes its findings to the record. measured: findings of that command that are decisive too. remarks: what
    a reader must know of the test. study: folder in results/ with the scores, by default the paper's.
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
    remarks: tuple[str, ...] = ()
    study: str = ""

    def find_level_against(self, question: ClaimQuestion) -> float:
        """Return the confidence level of an answer that contradicts the claim, which any of m answers can.

        1 - 0.05 / m (Bonferroni), as for questions of which one is enough; these, and questions that are not
        decisive, keep their own.
        """
        answers = sum(each.decisive for each in self.questions) + len(self.measured)
        return 1 - 0.05 / answers if question.decisive and len(question.contrasts) == 1 else question.level


def printed(ours: float, other: float = 0.0) -> float:
    """Return a difference of two printed scores, or a printed difference, in natural units (1.5: 0.015)."""
    return (ours - other) / 100


def versus(
    ours: str,
    other: str,
    group: str,
    *,
    direction: Direction = "above",
    margin: float = 0.0,
    relative: bool = False,
    figure: float | None = None,
) -> ScoreContrast:
    """Return a contrast of two models over one group."""
    return ScoreContrast(
        f"{ours} {direction} {other}, {group}",
        ContrastSide(ours, group),
        ContrastSide(other, group),
        direction=direction,
        margin=margin,
        relative=relative,
        figure=figure,
    )


def require_all(*contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return one decisive question per contrast."""
    return tuple(ClaimQuestion((contrast,)) for contrast in contrasts)


def show_only(*contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return questions whose answers are shown but do not decide."""
    return tuple(ClaimQuestion((contrast,), decisive=False) for contrast in contrasts)


def require_any(name: str, *contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return one question that any of the contrasts can answer."""
    return (ClaimQuestion(contrasts, name=name),)


def require_mixed(name: str, *contrasts: ScoreContrast) -> tuple[ClaimQuestion, ...]:
    """Return one question: some of the differences must be positive and some negative."""
    return (ClaimQuestion(contrasts, rule="mixed", name=name),)

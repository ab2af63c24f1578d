"""How a reviewer's papers become one score: best, mean of the top k, percentile; weights of age and authorship."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.uses.matching.conflicts import CONFLICT_KINDS

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
        match = _FORM.fullmatch(text.strip())
        if match is None or float(match[2] or 0) > 100:
            raise InputError(
                f"scoring {text!r} is none of best, mean-K and percentile-P, such as mean-3 or percentile-75"
            )
        if match[2] is not None:
            return cls(0, float(match[2]))
        return cls(int(match[1] or 1))

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


Objective = Literal["fair", "sum", "perturbed"]
_REQUIREMENT = re.compile(r"\s*([^=:]+?)\s*=\s*([^:]+?)\s*:\s*(\d+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSettings:
    """How submissions and reviewers are scored and assigned. Settings that construct are settings that run.

    per_paper: reviewers of each submission. min_papers, max_papers: submissions of each reviewer whose own limits
    are not stated. require: minima of groups, such as `seniority=senior:1`. scoring: `best`, `mean-K` or
    `percentile-P` of the cosines with a reviewer's papers. half_life: years after which a paper counts half, 0 for
    never. authorship: weight of papers of which the reviewer is neither first nor last author. bid_weight: times a
    bid (-1 to 1) is added to the score. conflicts: kinds that are found in the files. coauthor_years: of joint
    papers that are a conflict. year: from which ages count, 0: the latest of all papers. candidates: reviewers of
    each submission that are considered, at least. objective: `fair` raises the worst-served submission, then the
    sum; `sum`; `perturbed` samples, and no pair has more than `max_probability`; `quality`: the least share of the
    highest sum, in expectation, where that probability permits it. move_cost: score that moving a pair of an
    earlier assignment costs; None: as few moves as possible.
    """

    per_paper: int = 3
    min_papers: int = 0
    max_papers: int = 6
    require: tuple[str, ...] = ()
    scoring: str = "mean-3"
    half_life: float = 0.0
    authorship: float = 1.0
    bid_weight: float = 0.1
    conflicts: tuple[str, ...] = tuple(CONFLICT_KINDS)
    coauthor_years: int = 3
    year: int = 0
    candidates: int = 100
    objective: Objective = "fair"
    max_probability: float = 0.8
    quality: float = 0.98
    move_cost: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        Scoring.parse(self.scoring)
        for text in self.require:
            parse_requirement(text)
        if self.objective not in get_args(Objective):
            raise InputError(f"objective {self.objective!r} is none of {', '.join(get_args(Objective))}")
        for kind in self.conflicts:
            if kind not in CONFLICT_KINDS:
                raise InputError(f"no kind of conflict {kind!r}; kinds: {', '.join(CONFLICT_KINDS)}, or none")
        least = {"per_paper": 1, "candidates": 1, "max_papers": 1, "min_papers": 0, "coauthor_years": 0, "half_life": 0}
        for name, limit in least.items():
            if getattr(self, name) < limit:
                raise InputError(f"{name} is {getattr(self, name)}; the least is {limit}")
        if self.min_papers > self.max_papers:
            raise InputError(f"min_papers {self.min_papers} is more than max_papers {self.max_papers}")
        for name in ("authorship", "max_probability", "quality"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}, not above 0 and up to 1")

    def to_json(self) -> dict[str, Any]:
        """Return the settings by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFiles:
    """Optional files, next to those of submissions and reviewers.

    reviewer_papers: a folder with a file per reviewer, or paper files, of a table of reviewers. authors: a table of
    submissions' authors: paper, name, email, institution. scores: given scores, instead of vectors. bids, constraints
    (-1: forbidden, 1: locked): pairs. after: assignments of earlier rounds, which stay and count. keep: an earlier
    assignment of this round, from which as few pairs as possible are moved.
    """

    reviewer_papers: tuple[Path, ...] = ()
    authors: Path | None = None
    scores: Path | None = None
    bids: Path | None = None
    constraints: Path | None = None
    after: tuple[Path, ...] = ()
    keep: Path | None = None

    def listed(self) -> list[Path]:
        """Return all files that are given."""
        single = (self.authors, self.scores, self.bids, self.constraints, self.keep)
        return [*self.reviewer_papers, *filter(None, single), *self.after]


def parse_requirement(text: str) -> tuple[str, str, int]:
    """Return column, value and minimum of a text such as `seniority=senior:1`."""
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        raise InputError(f"requirement {text!r} is not COLUMN=VALUE:NUMBER, such as seniority=senior:1")
    return match[1], match[2], int(match[3])

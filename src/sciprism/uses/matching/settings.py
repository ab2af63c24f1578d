"""What a person sets of an assignment: how cosines become a score, loads, groups, conflicts, the objective, files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from sciprism.errors import InputError

Objective = Literal["fair", "sum"]
_REQUIREMENT = re.compile(r"\s*([^=:]+?)\s*=\s*([^:]+?)\s*:\s*(\d+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSettings:
    """How submissions and reviewers are scored and assigned. Settings that construct are settings that run.

    Fields with a text are options of `sciprism match`. max_papers: of reviewers whose own limit is not stated.
    best: a score is the mean of so many highest cosines with the reviewer's papers. candidates: reviewers that are
    considered for each submission, at least.
    objective: `fair` raises the worst-served submission, then the sum. max_probability: of every pair; below 1, a
    random veto, which the seed repeats, excludes pairs with the rest of the probability.
    """

    per_paper: Annotated[int, "Reviewers of each submission."] = 3
    max_papers: Annotated[int, "Submissions of each reviewer, at most."] = 6
    require: Annotated[tuple[str, ...], "A group's minimum: seniority=senior:1; repeatable."] = ()
    best: int = 3
    candidates: int = 100
    objective: Annotated[Objective, "fair or sum."] = "fair"
    balance: Annotated[bool, "Even the loads, without loss for the worst-served submission.", "--balance"] = False
    max_probability: Annotated[float, "Highest probability of any pair, by a random veto, against collusion."] = 1.0
    seed: Annotated[int, "Seed of the veto."] = 0

    def __post_init__(self) -> None:
        for text in self.require:
            parse_requirement(text)
        if self.objective not in get_args(Objective):
            raise InputError(f"objective {self.objective!r} must be one of {', '.join(get_args(Objective))}")
        for name in ("per_paper", "best", "candidates", "max_papers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; the least is 1")
        if not 0 < self.max_probability <= 1:
            raise InputError(f"max_probability is {self.max_probability}, not above 0 and up to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFiles:
    """Files next to submissions and reviewers, the options of `sciprism match`; each may be missing."""

    reviewer_papers: Annotated[
        tuple[Path, ...], "Papers of a table's reviewers: a folder of ID.jsonl ..., or files."
    ] = ()
    authors: Annotated[Path | None, "A table of the submissions' authors: paper, email, institution."] = None
    scores: Annotated[Path | None, "Given scores, rows paper,reviewer,score; replaces the model."] = None
    bids: Annotated[Path | None, "Bids, rows paper,reviewer,bid: -1 to 1, or very high ... very low."] = None
    constraints: Annotated[Path | None, "Rows paper,reviewer,-1 (forbidden), 0 (no conflict), 1 (locked)."] = None
    after: Annotated[tuple[Path, ...], "An earlier round's assignment, whose loads count; repeatable."] = ()
    keep: Annotated[Path | None, "An earlier assignment of this round; changes few pairs."] = None

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

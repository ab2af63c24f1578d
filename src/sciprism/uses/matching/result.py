"""The result of an assignment: pairs with reasons, the worst-served submissions, files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.uses.matching.pair_files import write_rows
from sciprism.uses.matching.score_sources import ReviewerPaper

HEADER = ("paper_id", "reviewer_id", "score", "bid", "reason")
CONFLICT_HEADER = ("paper_id", "reviewer_id", "kind", "reason")
WORST = 5
"""Worst-served submissions that a result names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPair:
    """A submission and its reviewer. score: expertise; bid: -1 to 1; value: what was maximised.

    papers: the reviewer's nearest ones. notes: such as "locked". probability: with which the pair was sampled.
    """

    paper: str
    title: str
    reviewer: str
    score: float
    bid: float
    value: float
    papers: tuple[ReviewerPaper, ...] = ()
    notes: tuple[str, ...] = ()
    probability: float | None = None

    @property
    def reason(self) -> str:
        """Return why, for a person: "wrote “A” (2019, 0.83); “B” (0.80); bid 1"."""
        near = "; ".join(
            f"“{each.title}” ({', '.join(filter(None, (str(each.year or ''), f'{each.cosine:.2f}')))})"
            for each in self.papers
        )
        parts = [f"wrote {near}" if near else "", f"bid {self.bid:g}" if self.bid else "", *self.notes]
        return "; ".join(filter(None, parts)) or "no paper of the reviewer is known"

    def to_json(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        probability = {} if self.probability is None else {"probability": round(self.probability, 4)}
        return {
            "paper": self.paper,
            "title": self.title,
            "reviewer": self.reviewer,
            "score": self.score,
            "bid": self.bid,
            "reason": self.reason,
            "papers": [{"title": p.title, "year": p.year, "cosine": p.cosine} for p in self.papers],
            **probability,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """An assignment, by submission in the order given, and its audit (`audit`: JSON values).

    reviewers: all of them, assigned or not. conflicts: submission, reviewer, kind and reason of those found. scored:
    yields the pairs that were considered, with their scores.
    """

    pairs: list[AssignedPair]
    reviewers: list[str]
    audit: dict[str, Any] = field(repr=False)
    conflicts: list[tuple[str, str, str, str]] = field(default_factory=list, repr=False)
    scored: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    def by_paper(self) -> dict[str, list[AssignedPair]]:
        """Return submission -> its pairs, the highest score first."""
        found: dict[str, list[AssignedPair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.paper, []).append(pair)
        return {paper: sorted(own, key=lambda pair: -pair.score) for paper, own in found.items()}

    def loads(self) -> dict[str, int]:
        """Return reviewer -> the number of submissions, 0 for those without one."""
        loads = dict.fromkeys(self.reviewers, 0)
        for pair in self.pairs:
            loads[pair.reviewer] += 1
        return loads

    def worst(self, count: int = WORST) -> list[tuple[str, float, list[AssignedPair]]]:
        """Return the submissions with the lowest mean value: id, mean, pairs."""
        means = [(paper, float(np.mean([pair.value for pair in own])), own) for paper, own in self.by_paper().items()]
        return sorted(means, key=lambda each: (each[1], each[0]))[:count]

    def write(self, path: Path | str, *, bare: bool = False) -> Path:
        """Write the assignment as CSV or JSON (by suffix), next to it the conflicts and the audit; return its path.

        bare: three columns without header, as OpenReview takes them. JSON is OpenReview's: submission -> reviewers.
        """
        path = Path(path)
        audit = audit_path(path)
        if path.suffix == ".json":
            found = {
                paper: [{"user": p.reviewer, "aggregate_score": p.value, "reason": p.reason} for p in own]
                for paper, own in self.by_paper().items()
            }
            write_json(path, found)
        else:
            write_rows(path, self._rows(bare))
        write_rows(path.with_name(f"{path.stem}.conflicts.csv"), [CONFLICT_HEADER, *self.conflicts])
        write_json(audit, self.audit)
        return audit

    def write_scores(self, path: Path | str) -> int:
        """Write the scores that were considered as OpenReview's rows `paper,reviewer,score`; return their number."""
        if self.scored is None:
            raise InputError("this result holds no scores")
        write_rows(Path(path), self.scored())
        return int(self.audit["counts"]["pairs considered"])

    def to_json(self) -> dict[str, Any]:
        """Return pairs and audit as JSON values."""
        return {"assignments": [pair.to_json() for pair in self.pairs], "audit": self.audit}

    def _rows(self, bare: bool) -> Iterator[tuple[object, ...]]:
        if not bare:
            yield HEADER
        for pair in self.pairs:
            row = (pair.paper, pair.reviewer, round(pair.score, 6), f"{pair.bid:g}", pair.reason)
            yield row[:3] if bare else row


def audit_path(path: Path) -> Path:
    """Return where the audit of an assignment file is."""
    return path.with_name(f"{path.stem}.audit.json")

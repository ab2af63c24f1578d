"""Explain a finished assignment: why a submission has its reviewers, why not others, and who is next."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.errors import InputError
from sciprism.uses.matching.expertise import ReviewerPaper
from sciprism.uses.matching.pair_files import CONSTRAINTS, Finder, PairReader, read_pair_rows
from sciprism.uses.matching.persons import IdIndex
from sciprism.uses.matching.result import NEXT, AssignedPair, list_companions
from sciprism.uses.matching.reviewers import Reviewer, ReviewerIndex


@dataclass(frozen=True, slots=True)
class ExplainedPair:
    """A pair, assigned or not. pair: None where it was not considered; rank: of `considered` by value, from 1.

    load, most: submissions of the reviewer, with those of earlier rounds. absence: why it is not assigned, "" if it is.
    """

    reviewer: str
    name: str
    pair: AssignedPair | None
    rank: int
    considered: int
    load: int
    most: int
    absence: str = ""

    @property
    def reason(self) -> str:
        """Return why they fit: the reviewer's nearest papers, where they were stored, and the bid."""
        if self.pair is None or not (self.pair.papers or self.pair.bid or self.pair.notes):
            return ""
        return self.pair.reason

    def to_json(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        scored = {"score": self.pair.score, "bid": self.pair.bid, "rank": self.rank} if self.pair else {}
        counts = {"considered": self.considered, "load": self.load, "most": self.most}
        texts = {"reason": self.reason, "absence": self.absence}
        return {"reviewer": self.reviewer, "name": self.name, **scored, **counts, **texts}


@dataclass(frozen=True, slots=True)
class ExplainedSubmission:
    """A submission with its reviewers, the next candidates, and who may not review it, with the reason."""

    id: str
    title: str
    assigned: list[ExplainedPair]
    following: list[ExplainedPair]
    forbidden: dict[str, str]

    @property
    def mean(self) -> float:
        """Return the mean value (score and bid) of its pairs."""
        return float(np.mean([pair.pair.value for pair in self.assigned if pair.pair] or [0.0]))

    def to_json(self) -> dict[str, Any]:
        """Return the submission as JSON values."""
        pairs = {"assigned": self.assigned, "next": self.following}
        listed = {kind: [pair.to_json() for pair in some] for kind, some in pairs.items()}
        head = {"submission": self.id, "title": self.title, "mean": round(self.mean, 6)}
        return {**head, **listed, "forbidden": self.forbidden}


class FinishedAssignment:
    """An assignment as its file has it now, perhaps changed by hand, and the details that `Matching.write` stored.

    submissions, reviewers: ids. assigned: reviewers of each submission, the best first; loads: submissions of each
    reviewer, as numbers from 0. changed: pairs that differ from those that were found.
    """

    def __init__(self, path: Path) -> None:
        self.path, details = path, _read_details(path)
        self.people: list[dict[str, Any]] = details["reviewers"]
        self._stored: list[dict[str, Any]] = details["submissions"]
        self._forbidden: list[dict[int, str]] = [{} for _ in self._stored]
        for row, number, reason in details["forbidden"]:
            self._forbidden[row][number] = reason
        self.submissions = [entry["id"] for entry in self._stored]
        self.reviewers = [person["id"] for person in self.people]
        self._papers = IdIndex(self.submissions)
        self._index = ReviewerIndex(
            [Reviewer(**{name: person[name] for name in ("id", "name", "emails", "aliases")}) for person in self.people]
        )
        self._scores = [{number: values for number, *values in entry["scores"]} for entry in self._stored]
        pairs = {
            (_find(self._papers, paper, "submission", where), _find(self._index, reviewer, "reviewer", where))
            for where, paper, reviewer, _ in read_pair_rows(path)
        }
        found = {(row, pair["reviewer"]) for row, entry in enumerate(self._stored) for pair in entry["assigned"]}
        self.changed = len(pairs ^ found)
        self.assigned: list[list[int]] = [[] for _ in self.submissions]
        self.loads: list[list[int]] = [[] for _ in self.reviewers]
        for row, number in sorted(pairs, key=lambda pair: (pair[0], -self._value(*pair), pair[1])):
            self.assigned[row].append(number)
            self.loads[number].append(row)

    def find_submission(self, text: str) -> int:
        """Return the number of a submission. Raises InputError for an unknown id."""
        return _find(self._papers, text, "submission", str(self.path))

    def find_reviewer(self, text: str) -> int:
        """Return the number of a reviewer, by id, address or name. Raises InputError for none or several."""
        return _find(self._index, text, "reviewer", str(self.path))

    def read_constraints(self, path: Path) -> dict[tuple[int, int], float]:
        """Return what a file states of submissions and reviewers, by number: 1 locked, -1 forbidden, 0 no conflict."""
        read = PairReader(self._papers, self._index).read(path, "constraint", CONSTRAINTS)
        return {pair: value for (pair, _), value in zip(read.places_by_pair(), read.values.tolist(), strict=True)}

    def title(self, row: int) -> str:
        """Return the title of a submission."""
        return str(self._stored[row]["title"])

    def explain(self, row: int) -> ExplainedSubmission:
        """Explain the reviewers of a submission."""
        following = [pair["reviewer"] for pair in self._stored[row]["next"]]
        ranked = [*following, *(number for number in self._scores[row] if number not in following)]
        free = [n for n in ranked if n not in self.assigned[row] and n not in self._forbidden[row]]
        return ExplainedSubmission(
            id=self.submissions[row],
            title=self.title(row),
            assigned=[self.explain_pair(row, number) for number in self.assigned[row]],
            following=[self.explain_pair(row, number) for number in free[:NEXT]],
            forbidden={self.reviewers[n]: reason for n, reason in self._forbidden[row].items()},
        )

    def explain_pair(self, row: int, number: int) -> ExplainedPair:
        """Explain why a reviewer has a submission, or why not."""
        person, scores, entry = self.people[number], self._scores[row], self._stored[row]
        pair = None
        if number in scores:
            stored = (pair for kind in ("assigned", "next") for pair in entry[kind])
            near: dict[str, Any] = next((pair for pair in stored if pair["reviewer"] == number), {"papers": []})
            pair = AssignedPair(
                paper=self.submissions[row],
                title=entry["title"],
                reviewer=self.reviewers[number],
                **dict(zip(("score", "bid", "value"), scores[number], strict=True)),
                papers=tuple(ReviewerPaper(**paper) for paper in near["papers"]),
                notes=tuple(near.get("notes", ())),
            )
        explained = ExplainedPair(
            reviewer=person["id"],
            name=person["name"],
            pair=pair,
            rank=1 + sum(values[2] > scores[number][2] for values in scores.values()) if pair else 0,
            considered=entry["considered"],
            load=len(self.loads[number]) + person["earlier"],
            most=person["most"] + person["earlier"],
        )
        if number in self.assigned[row]:
            return explained
        return replace(explained, absence=self._explain_absence(row, number, explained))

    def _value(self, row: int, number: int) -> float:
        """Return score and bid of a pair, 0 of one that was not considered."""
        return float(self._scores[row].get(number, (0.0, 0.0, 0.0))[2])

    def _explain_absence(self, row: int, number: int, explained: ExplainedPair) -> str:
        if reason := self._forbidden[row].get(number):
            return f"may not review it: {reason}"
        values = {other: self._value(row, other) for other in self.assigned[row]}
        lowest = min(values, key=lambda other: values[other], default=-1)
        if explained.pair is None:
            scores = [scores[2] for scores in self._scores[row].values()]
            least = f" (lowest {min(scores):.4f})" if scores else ""
            return f"is not among the {len(scores):,} best of {explained.considered:,} reviewers considered{least}"
        value = explained.pair.value
        if values and value <= values[lowest]:
            return f"is below its reviewers, the lowest of whom is {self.reviewers[lowest]} ({values[lowest]:.4f})"
        gain = f"would gain {value - values[lowest]:.4f} over {self.reviewers[lowest]}, but " if values else ""
        if explained.load < explained.most or not self.loads[number]:
            return (
                f"{gain}has room: a lock, a group, a minimum load, fairness to others, --keep, --balance or sampling "
                "decided, or a change by hand"
            )
        other = min(self.loads[number], key=lambda paper: self._value(paper, number))
        held = f"the lowest of them {self.submissions[other]} ({self._value(other, number):.4f})"
        return f"{gain}has {explained.load} of {explained.most} submissions, {held}"


def _read_details(path: Path) -> dict[str, Any]:
    details = list_companions(path)[1]
    if not path.is_file():
        raise InputError(f"{path}: no such assignment")
    if not details.is_file():
        raise InputError(f"{details}: no such file; `sciprism match` writes it next to its assignment")
    try:
        content = json.loads(details.read_text(encoding="utf-8"))
        if content["schema"] != "sciprism.match-details/1":
            raise ValueError(f"schema {content['schema']}")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{details} does not hold the details of an assignment: {error!r}") from error
    return dict(content)


def _find(index: Finder, text: str, kind: str, where: str) -> int:
    number = index.find(text)
    if number is None:
        several = f"several {kind}s are called" if index.find_all(text) else f"no {kind}"
        raise InputError(f"{where}: {several} {text!r}")
    return number

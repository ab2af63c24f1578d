"""The result of an assignment: pairs with reasons, the worst-served submissions, files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.files import check_companion, sha256, write_json
from sciprism.papers.records import Paper
from sciprism.uses.matching.assignment import AssignmentTask, SolvedAssignment
from sciprism.uses.matching.expertise import ReviewerPaper
from sciprism.uses.matching.pair_files import write_rows
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.matching.settings import MatchSettings

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NEXT = 3  # next candidates of a submission whose papers the details name
MAX_SCORES = 200  # pairs of a submission, the best, whose scores the details hold; the assigned ones always
HEADER = ("paper_id", "reviewer_id", "score", "bid", "reason")
CONFLICT_HEADER = ("paper_id", "reviewer_id", "kind", "reason")
WORST = 5  # worst-served submissions that a result names


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPair:
    """A submission and its reviewer. score: expertise; bid: -1 to 1; value: what was maximized.

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
            f"“{paper.title}” ({', '.join(filter(None, (str(paper.year or ''), f'{paper.cosine:.2f}')))})"
            for paper in self.papers
        )
        parts = [f"wrote {near}" if near else "", f"bid {self.bid:g}" if self.bid else "", *self.notes]
        return "; ".join(filter(None, parts)) or "no paper of the reviewer is known"

    def to_json(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        values = {name: getattr(self, name) for name in ("paper", "title", "reviewer", "score", "bid", "reason")}
        probability = {} if self.probability is None else {"probability": round(self.probability, 4)}
        return {**values, "papers": list(map(asdict, self.papers)), **probability}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """An assignment, by submission in the order given, and its audit (`audit`: JSON values).

    reviewers: all of them, assigned or not. conflicts: submission, reviewer, kind and reason of those found. scored:
    yields the pairs that were considered, with their scores. details: what `FinishedAssignment` explains pairs by.
    """

    pairs: list[AssignedPair]
    reviewers: list[str]
    audit: dict[str, Any] = field(repr=False)
    conflicts: list[tuple[str, str, str, str]] = field(default_factory=list, repr=False)
    scored: Any = field(default=None, repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    def by_paper(self) -> dict[str, list[AssignedPair]]:
        """Return submission -> its pairs, the highest score first."""
        by_paper: dict[str, list[AssignedPair]] = {}
        for pair in self.pairs:
            by_paper.setdefault(pair.paper, []).append(pair)
        return {paper: sorted(pairs, key=lambda pair: -pair.score) for paper, pairs in by_paper.items()}

    def loads(self) -> dict[str, int]:
        """Return reviewer -> the number of submissions, 0 for those without one."""
        loads = dict.fromkeys(self.reviewers, 0)
        for pair in self.pairs:
            loads[pair.reviewer] += 1
        return loads

    def worst(self, count: int = WORST) -> list[tuple[str, float, list[AssignedPair]]]:
        """Return the submissions with the lowest mean value: id, mean, pairs."""
        means = [
            (paper, float(np.mean([pair.value for pair in pairs])), pairs) for paper, pairs in self.by_paper().items()
        ]
        return sorted(means, key=lambda entry: (entry[1], entry[0]))[:count]

    def write(self, path: Path | str, *, bare: bool = False) -> Path:
        """Write the assignment as CSV or JSON (by suffix), next to it conflicts, details and audit; return the latter.

        bare: three columns without header, as OpenReview takes them. JSON is OpenReview's: submission -> reviewers.
        Raises InputError where a file next to it would replace one that no earlier assignment wrote.
        """
        path = Path(path)
        conflicts, details, audit = list_companions(path)
        check_companions(path)
        if path.suffix == ".json":
            by_paper = {
                paper: [{"user": p.reviewer, "aggregate_score": p.value, "reason": p.reason} for p in pairs]
                for paper, pairs in self.by_paper().items()
            }
            write_json(path, by_paper)
        else:
            write_rows(path, self._rows(bare))
        write_rows(conflicts, [CONFLICT_HEADER, *self.conflicts])
        write_json(details, self.details, indent=None)
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


_COMPANIONS = {
    ".conflicts.csv": ",".join(CONFLICT_HEADER),
    ".details.json": '{"schema": "sciprism.match-details/',
    ".audit.json": '{\n "schema": "sciprism.match-audit/',
}
"""Ends of the names of files next to an assignment -> how these begin."""


def list_companions(assignment: Path) -> list[Path]:
    """Return the files next to an assignment: its conflicts, details and audit."""
    return [assignment.with_name(assignment.stem + end) for end in _COMPANIONS]


def check_companions(assignment: Path) -> None:
    """Raise InputError where a file next to an assignment would replace one that no earlier assignment wrote."""
    for path, beginning in zip(list_companions(assignment), _COMPANIONS.values(), strict=True):
        check_companion(path, assignment, beginning)


def describe_pairs(task: AssignmentTask, submissions: Sequence[Paper], solved: SolvedAssignment) -> list[AssignedPair]:
    """Return the assigned pairs with their reasons."""
    required, stated, pairs, probabilities = task.required, task.stated, solved.pairs, solved.probabilities
    bids = stated.bids.look_up(pairs.papers, pairs.reviewers, required.shape)
    locked = required.are_among(required.locked, pairs.papers, pairs.reviewers)
    near = task.scores.explain(pairs.papers, pairs.reviewers)
    return [
        AssignedPair(
            paper=submissions[row].id,
            title=submissions[row].title,
            reviewer=required.reviewer_ids[number],
            score=round(float(pairs.scores[i]), 6),
            bid=float(bids[i]),
            value=float(solved.values[i]),
            papers=near[i],
            notes=("locked",) if locked[i] else ("score given",) if stated.scores is not None else (),
            probability=None if probabilities is None else float(probabilities[i]),
        )
        for i, (row, number) in enumerate(zip(pairs.papers.tolist(), pairs.reviewers.tolist(), strict=True))
    ]


def build_details(
    task: AssignmentTask,
    submissions: Sequence[Paper],
    reviewers: Sequence[Reviewer],
    solved: SolvedAssignment,
    assigned: Sequence[AssignedPair],
) -> dict[str, Any]:
    """Return what explains an assignment: limits of reviewers, scores of all pairs considered, the next candidates.

    Reviewers and submissions are numbers, from 0. considered: reviewers of a submission; scores: reviewer, score, bid
    and value of the best. Limits of reviewers are without the submissions of earlier rounds.
    """
    required, stated, table = task.required, task.stated, solved.all
    bids = stated.bids.look_up(table.papers, table.reviewers, required.shape)
    order = np.lexsort((-solved.all_values, table.papers))
    is_assigned = required.are_among((solved.pairs.papers, solved.pairs.reviewers), table.papers, table.reviewers)
    following = _take_first(table.papers, order[~is_assigned[order]], NEXT)
    order = order[np.isin(order, _take_first(table.papers, order, MAX_SCORES)) | is_assigned[order]]
    counts = np.bincount(table.papers, minlength=required.shape[0]).tolist()
    entries: list[dict[str, Any]] = [
        {"id": paper.id, "title": paper.title, "considered": count, "assigned": [], "next": [], "scores": []}
        for paper, count in zip(submissions, counts, strict=True)
    ]
    numbers = solved.pairs.reviewers.tolist()
    for row, number, pair in zip(solved.pairs.papers.tolist(), numbers, assigned, strict=True):
        near = list(map(asdict, pair.papers))
        entries[row]["assigned"].append({"reviewer": number, "papers": near, "notes": list(pair.notes)})
    rows, numbers = table.papers[following], table.reviewers[following]
    for row, number, papers in zip(rows.tolist(), numbers.tolist(), task.scores.explain(rows, numbers), strict=True):
        entries[row]["next"].append({"reviewer": number, "papers": list(map(asdict, papers))})
    columns = (table.papers, table.reviewers, table.scores, bids, solved.all_values)
    for row, number, *values in zip(*(column[order].tolist() for column in columns), strict=True):
        entries[row]["scores"].append([number, *(round(value, 6) for value in values)])
    limits = zip(required.least.tolist(), required.most.tolist(), stated.earlier_loads.tolist(), strict=True)
    people = [
        {"id": person.id, "name": person.name, "emails": list(person.emails), "aliases": list(person.aliases)}
        | {"papers": len(person.papers), "least": least, "most": most, "earlier": earlier}
        for person, (least, most, earlier) in zip(reviewers, limits, strict=True)
    ]
    return {"schema": "sciprism.match-details/1", "reviewers": people, "submissions": entries}


def _take_first(papers: Rows, order: Rows, count: int) -> Rows:
    """Return of each submission its first pairs in an order, which is by submission. papers: of each pair."""
    ordered = papers[order]
    first: Rows = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < count]
    return first


def describe_unchecked(audit: Mapping[str, Any]) -> dict[str, str]:
    """Return kind of conflict -> "not checked for 2 of 9 profiles, which have no names"."""
    return {kind: f"not checked {why}" for kind, why in audit.get("conflicts not checked", {}).items()}


def build_audit(
    matching: Matching,
    solved: SolvedAssignment,
    settings: MatchSettings,
    encoder: EncoderProtocol | None,
    *,
    files: Iterable[Path],
    inputs: dict[str, Any],
) -> dict[str, Any]:
    """Return what a chair needs to repeat and defend an assignment: versions, settings, files, counts, result.

    encoder: None where scores were given. files: hashed, of folders each file. inputs: counts of what was read.
    """
    hashed = (file for path in files for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
    versions = {}
    for name in ("sciprism", "highspy", "numpy"):  # which decide the result
        with suppress(PackageNotFoundError):  # run from a folder without installing
            versions[name] = version(name)
    used = None if encoder is None else {"name": str(getattr(encoder, "name", "")), "fingerprint": encoder.fingerprint}
    return {
        "schema": "sciprism.match-audit/1",
        "versions": versions,
        "settings": settings.to_json(),
        "encoder": used,
        "files": {str(file): sha256(file) for file in hashed if file.is_file()},
        **inputs,
        "counts": {**inputs["counts"], "pairs considered": len(solved.all)},
        "result": _describe_result(matching, solved),
    }


def _describe_result(matching: Matching, solved: SolvedAssignment) -> dict[str, Any]:
    """Return the numbers of the assignment and its worst-served submissions. Scores are means of each submission."""
    per_paper = len(matching) / max(1, len(matching.by_paper()))
    loads = Counter(matching.loads().values())
    worst = matching.worst()
    result: dict[str, Any] = {
        "pairs": len(matching),
        "mean score": _round(np.mean([pair.score for pair in matching.pairs])),
        "mean value": _round(np.mean([pair.value for pair in matching.pairs])),
        "worst submission": _round(worst[0][1]),
        "reviewers by load": {str(load): loads[load] for load in sorted(loads)},
        "loads": _describe_loads(list(matching.loads().values())),
        "pairs with a bid above 0": sum(pair.bid > 0 for pair in matching.pairs),
        "pairs with a bid below 0": sum(pair.bid < 0 for pair in matching.pairs),
    }
    if solved.bound is not None:
        result["worst submission, upper bound"] = _round(solved.bound / per_paper)
    if solved.best_sum is not None:
        result["share of the highest sum"] = _round(solved.values.sum() / solved.best_sum if solved.best_sum else 1.0)
    if (uneven := solved.uneven) is not None:
        before = np.bincount(uneven.reviewers, minlength=len(matching.reviewers)).tolist()
        result["before balancing"] = {"loads": _describe_loads(before), "mean score": _round(uneven.scores.mean())}
    if solved.kept is not None:
        result |= {"kept of the earlier assignment": solved.kept, "moved": solved.moved}
    if solved.probabilities is not None:
        result["mean probability of the sampled pairs"] = _round(solved.probabilities.mean())
    fields = ("reviewer", "score", "reason")
    result["worst-served submissions"] = [
        {"paper": paper, "title": pairs[0].title, "mean value": _round(mean)}
        | {"reviewers": [{name: getattr(pair, name) for name in fields} for pair in pairs]}
        for paper, mean, pairs in worst
    ]
    return result


def _describe_loads(loads: list[int]) -> dict[str, float]:
    return {"least": min(loads), "most": max(loads), "mean": _round(np.mean(loads)), "deviation": _round(np.std(loads))}


def _round(value: Any) -> float:
    return round(float(value), 6)

"""Match submissions with reviewers: from files to an assignment with reasons and an audit; explain it, show it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from sciprism import __version__
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import check_companion, sha256, write_atomically, write_json
from sciprism.pages import fill_file
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.uses.collection import find_encoder
from sciprism.uses.matching.assignment import (
    AssignmentTask,
    GroupMinimum,
    PairScores,
    Requirements,
    SolvedAssignment,
    solve_assignment,
)
from sciprism.uses.matching.conflicts import (
    ConflictInput,
    ForbiddenReport,
    find_conflicts,
    join_forbidden,
    list_unchecked,
)
from sciprism.uses.matching.expertise import ExpertiseScorer, ReviewerPaper, build_profiles, encode_papers
from sciprism.uses.matching.reviewers import (
    CONSTRAINT,
    Authorship,
    Finder,
    IdIndex,
    PairReader,
    Reviewer,
    ReviewerIndex,
    StatedPairs,
    look_up,
    normalize_id,
    read_authorships,
    read_pair_rows,
    read_reviewers,
    read_stated_pairs,
    split_pairs,
    write_rows,
)
from sciprism.uses.matching.settings import MatchFiles, MatchSettings, parse_requirement

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

    papers: the reviewer's nearest ones. notes: such as "locked".
    """

    paper: str
    title: str
    reviewer: str
    score: float
    bid: float
    value: float
    papers: tuple[ReviewerPaper, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Return why, for a person: "wrote “A” (2019, 0.83); “B” (0.80); bid 1"."""
        return describe_reason(self.papers, self.bid, self.notes)

    def to_json(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        values = {name: getattr(self, name) for name in ("paper", "title", "reviewer", "score", "bid", "reason")}
        return {**values, "papers": list(map(asdict, self.papers))}


def describe_reason(papers: Sequence[ReviewerPaper], bid: float, notes: Sequence[str]) -> str:
    """Return why a reviewer has a submission: the nearest papers, the bid, and notes such as "locked"."""
    near = "; ".join(f"“{near.title}” ({f'{near.year}, ' if near.year else ''}{near.cosine:.2f})" for near in papers)
    parts = [f"wrote {near}" if near else "", f"bid {bid:g}" if bid else "", *notes]
    return "; ".join(filter(None, parts)) or "no paper of the reviewer is known"


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

    def by_paper(self) -> dict[str, list[AssignedPair]]:
        """Return submission -> its pairs, the highest score first."""
        by_paper: dict[str, list[AssignedPair]] = {}
        for pair in self.pairs:
            by_paper.setdefault(pair.paper, []).append(pair)
        return {paper: sorted(pairs, key=lambda pair: -pair.score) for paper, pairs in by_paper.items()}

    def loads(self) -> dict[str, int]:
        """Return reviewer -> the number of submissions, 0 for those without one."""
        loads = Counter(pair.reviewer for pair in self.pairs)
        return {reviewer: loads[reviewer] for reviewer in self.reviewers}

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
            rows = [(p.paper, p.reviewer, round(p.score, 6), f"{p.bid:g}", p.reason) for p in self.pairs]
            write_rows(path, [row[:3] for row in rows] if bare else [HEADER, *rows])
        write_rows(conflicts, [CONFLICT_HEADER, *self.conflicts])
        write_json(details, self.details, indent=None)
        write_json(audit, self.audit)
        return audit

    def to_json(self) -> dict[str, Any]:
        """Return pairs and audit as JSON values."""
        return {"assignments": [pair.to_json() for pair in self.pairs], "audit": self.audit}


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
    required, stated, rows, numbers = task.required, task.stated, solved.pairs.papers, solved.pairs.reviewers
    note = () if stated.scores is None else ("score given",)
    locked = required.are_among(required.locked, rows, numbers).tolist()
    columns = zip(
        *(rows.tolist(), numbers.tolist(), solved.pairs.scores.tolist(), solved.values.tolist()),
        look_up(stated.bids, rows, numbers, required.shape).tolist(),
        *(task.scores.explain(rows, numbers), locked),
        strict=True,
    )
    return [
        AssignedPair(
            paper=submissions[row].id,
            title=submissions[row].title,
            reviewer=required.reviewer_ids[number],
            score=round(score, 6),
            bid=bid,
            value=value,
            papers=near,
            notes=("locked",) if is_locked else note,
        )
        for row, number, score, value, bid, near, is_locked in columns
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
    required, table = task.required, solved.all
    bids = look_up(task.stated.bids, table.papers, table.reviewers, required.shape)
    values = zip(table.scores.tolist(), bids.tolist(), solved.all_values.tolist(), strict=True)
    considered: list[dict[int, tuple[float, ...]]] = [{} for _ in submissions]
    for row, number, of_pair in zip(table.papers.tolist(), table.reviewers.tolist(), values, strict=True):
        considered[row][number] = of_pair
    chosen: list[dict[int, AssignedPair]] = [{} for _ in submissions]
    for row, number, pair in zip(solved.pairs.papers.tolist(), solved.pairs.reviewers.tolist(), assigned, strict=True):
        chosen[row][number] = pair
    entries, following = list[dict[str, Any]](), list[tuple[int, int]]()
    for row, (paper, pairs, own) in enumerate(zip(submissions, considered, chosen, strict=True)):
        ranked = sorted(pairs, key=lambda number: -pairs[number][2])
        following += [(row, number) for number in ranked if number not in own][:NEXT]
        kept = [*ranked[:MAX_SCORES], *(number for number in ranked[MAX_SCORES:] if number in own)]
        held = [
            {"reviewer": number, "papers": list(map(asdict, pair.papers)), "notes": list(pair.notes)}
            for number, pair in own.items()
        ]
        numbers = [[number, *(round(value, 6) for value in pairs[number])] for number in kept]
        head = {"id": paper.id, "title": paper.title, "considered": len(pairs)}
        entries.append({**head, "assigned": held, "next": [], "scores": numbers})
    for (row, number), papers in zip(following, task.scores.explain(*split_pairs(following)), strict=True):
        entries[row]["next"].append({"reviewer": number, "papers": list(map(asdict, papers))})
    loads = task.stated.list_loads(len(reviewers))
    limits = zip(reviewers, required.least.tolist(), required.most.tolist(), loads.tolist(), strict=True)
    people = [
        {"id": person.id, "name": person.name, "emails": list(person.emails), "aliases": list(person.aliases)}
        | {"papers": len(person.papers), "least": least, "most": most, "earlier": earlier}
        for person, least, most, earlier in limits
    ]
    return {"schema": "sciprism.match-details/1", "reviewers": people, "submissions": entries}


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
    versions = {"sciprism": __version__, "scipy": scipy.__version__, "numpy": np.__version__}  # which decide the result
    used = None if encoder is None else {"name": str(getattr(encoder, "name", "")), "fingerprint": encoder.fingerprint}
    return {
        "schema": "sciprism.match-audit/1",
        "versions": versions,
        "settings": asdict(settings) | {"require": list(settings.require)},
        "encoder": used,
        "files": {str(file): sha256(file) for file in hashed if file.is_file()},
        **inputs,
        "counts": {**inputs["counts"], "pairs considered": len(solved.all)},
        "result": _describe_result(matching, solved),
    }


def _describe_result(matching: Matching, solved: SolvedAssignment) -> dict[str, Any]:
    """Return the numbers of the assignment and its worst-served submissions. Scores are means of each submission."""
    loads, worst = list(matching.loads().values()), matching.worst()
    result: dict[str, Any] = {
        "pairs": len(matching.pairs),
        "mean score": _round(np.mean([pair.score for pair in matching.pairs])),
        "mean value": _round(np.mean(solved.values)),
        "worst submission": _round(worst[0][1]),
        "reviewers by load": {str(load): count for load, count in sorted(Counter(loads).items())},
        "loads": _describe_loads(loads),
        "pairs with a bid above 0": sum(pair.bid > 0 for pair in matching.pairs),
        "pairs with a bid below 0": sum(pair.bid < 0 for pair in matching.pairs),
    }
    if solved.bound is not None:
        per_paper = len(matching.pairs) / max(1, len(matching.by_paper()))
        result["worst submission, upper bound"] = _round(solved.bound / per_paper)
    if solved.best_sum is not None:
        result["share of the highest sum"] = _round(solved.values.sum() / solved.best_sum if solved.best_sum else 1.0)
    if (uneven := solved.uneven) is not None:
        before = np.bincount(uneven.reviewers, minlength=len(matching.reviewers)).tolist()
        result["before balancing"] = {"loads": _describe_loads(before), "mean score": _round(uneven.scores.mean())}
    if solved.kept is not None:
        result |= {"kept of the earlier assignment": solved.kept, "moved": solved.moved}
    if solved.vetoed is not None:
        result["pairs in spite of the veto"] = solved.vetoed
    result["worst-served submissions"] = [
        {"paper": paper, "title": pairs[0].title, "mean value": _round(mean)}
        | {"reviewers": [{"reviewer": p.reviewer, "score": p.score, "reason": p.reason} for p in pairs]}
        for paper, mean, pairs in worst
    ]
    return result


def _describe_loads(loads: list[int]) -> dict[str, float]:
    return {"least": min(loads), "most": max(loads), "mean": _round(np.mean(loads)), "deviation": _round(np.std(loads))}


def _round(value: Any) -> float:
    return round(float(value), 6)


@dataclass(frozen=True, slots=True)
class ExplainedPair:
    """A pair, assigned or not. score: None where it was not considered; rank: of `considered` by value, from 1.

    load, most: submissions of the reviewer, with those of earlier rounds. reason: why they fit, the nearest papers
    where they were stored, and the bid. absence: why it is not assigned, "" if it is.
    """

    reviewer: str
    name: str
    score: float | None
    bid: float
    rank: int
    considered: int
    load: int
    most: int
    reason: str
    absence: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        unknown = () if self.score is not None else ("score", "bid", "rank")
        return {name: value for name, value in asdict(self).items() if name not in unknown}


@dataclass(frozen=True, slots=True)
class ExplainedSubmission:
    """A submission with its reviewers, the next candidates, and who may not review it, with the reason.

    mean: of score and bid of its pairs.
    """

    id: str
    title: str
    mean: float
    assigned: list[ExplainedPair]
    following: list[ExplainedPair]
    forbidden: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the submission as JSON values."""
        assigned, following = ([pair.to_json() for pair in some] for some in (self.assigned, self.following))
        head = {"submission": self.id, "title": self.title, "mean": round(self.mean, 6)}
        return {**head, "assigned": assigned, "next": following, "forbidden": self.forbidden}


class FinishedAssignment:
    """An assignment as its file has it now, perhaps edited, and the details that `Matching.write` stored.

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
        read = PairReader(self._papers, self._index).read(path, CONSTRAINT)
        return {pair: value for pair, (value, _) in read.items()}

    def title(self, row: int) -> str:
        """Return the title of a submission."""
        return str(self._stored[row]["title"])

    def explain(self, row: int) -> ExplainedSubmission:
        """Explain the reviewers of a submission."""
        following = [pair["reviewer"] for pair in self._stored[row]["next"]]
        ranked = [*following, *(number for number in self._scores[row] if number not in following)]
        free = [n for n in ranked if n not in self.assigned[row] and n not in self._forbidden[row]]
        values = [self._value(row, number) for number in self.assigned[row] if number in self._scores[row]]
        return ExplainedSubmission(
            id=self.submissions[row],
            title=self.title(row),
            mean=float(np.mean(values or [0.0])),
            assigned=[self.explain_pair(row, number) for number in self.assigned[row]],
            following=[self.explain_pair(row, number) for number in free[:NEXT]],
            forbidden={self.reviewers[n]: reason for n, reason in self._forbidden[row].items()},
        )

    def explain_pair(self, row: int, number: int) -> ExplainedPair:
        """Explain why a reviewer has a submission, or why not."""
        person, scores, entry = self.people[number], self._scores[row], self._stored[row]
        score, bid, value = scores.get(number, (None, 0.0, 0.0))
        stored = (pair for kind in ("assigned", "next") for pair in entry[kind] if pair["reviewer"] == number)
        near: dict[str, Any] = next(stored, {"papers": []})
        papers, notes = [ReviewerPaper(**paper) for paper in near["papers"]], near.get("notes", ())
        explained = ExplainedPair(
            reviewer=person["id"],
            name=person["name"],
            score=score,
            bid=bid,
            rank=0 if score is None else 1 + sum(other > value for *_, other in scores.values()),
            considered=entry["considered"],
            load=len(self.loads[number]) + person["earlier"],
            most=person["most"] + person["earlier"],
            reason=describe_reason(papers, bid, notes) if score is not None and (papers or bid or notes) else "",
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
        if explained.score is None:
            scores = [scores[2] for scores in self._scores[row].values()]
            least = f" (lowest {min(scores):.4f})" if scores else ""
            return f"is not among the {len(scores):,} best of {explained.considered:,} reviewers considered{least}"
        value = self._value(row, number)
        if values and value <= values[lowest]:
            return f"is below its reviewers, the lowest of whom is {self.reviewers[lowest]} ({values[lowest]:.4f})"
        gain = f"would gain {value - values[lowest]:.4f} over {self.reviewers[lowest]}, but " if values else ""
        if explained.load < explained.most or not self.loads[number]:
            return (
                f"{gain}has room: a lock, a group, a minimum load, fairness to others, --keep, --balance or the veto "
                "decided, or an edit of the file"
            )
        other = min(self.loads[number], key=lambda paper: self._value(paper, number))
        held = f"the lowest of them {self.submissions[other]} ({self._value(other, number):.4f})"
        return f"{gain}has {explained.load} of {explained.most} submissions, {held}"


def _read_details(path: Path) -> dict[str, Any]:
    details = list_companions(path)[1]
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


MAX_NAME = 40  # characters of an id in a file's name


def write_pages(finished: FinishedAssignment, folder: Path) -> None:
    """Write the pages into a folder; InputError for one that holds something.

    `index.html` and the pages in `submissions` are for chairs. A page in `reviewers` names the reviewer's submissions,
    and nothing of their authors, conflicts and other reviewers: it can be sent to the reviewer.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder; name a new one")
    files = {"submissions": _name_files(finished.submissions), "reviewers": _name_files(finished.reviewers)}
    for name in files:
        (folder / name).mkdir(parents=True, exist_ok=True)

    def write(path: Path, kind: str, **values: Any) -> None:
        page = fill_file("assignment.html", "tables.js", kind=kind, finished=finished, files=files, **values)
        write_atomically(path, methodcaller("write", page))

    means = []
    for row, name in enumerate(files["submissions"]):
        explained = finished.explain(row)
        means.append(explained.mean)
        write(folder / "submissions" / name, "submission", explained=explained)
    for number, name in enumerate(files["reviewers"]):
        pairs = [(row, finished.explain_pair(row, number)) for row in finished.loads[number]]
        write(folder / "reviewers" / name, "reviewer", person=finished.people[number], pairs=pairs)
    audit: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # the audit may be filed elsewhere
        audit = json.loads(list_companions(finished.path)[2].read_text(encoding="utf-8"))
    said = {"unchecked": audit.get("conflicts not checked", {}), "conflicts": audit.get("conflicts", {})}
    write(folder / "index.html", "index", means=means, **said)


def _name_files(ids: Sequence[str]) -> list[str]:
    """Return a file's name for each id, distinct by its number also where case does not matter."""
    stems = (re.sub(r"[^\w.-]+", "_", id)[:MAX_NAME].strip("._") for id in ids)
    return [f"{stem}-{number}.html" for number, stem in enumerate(stems, 1)]


NO_FILES = MatchFiles()
COAUTHOR_YEARS = 3  # in which a joint paper is a conflict
MAX_LISTED = 50  # submissions, reviewers or records of one kind that an audit lists; all are counted


def match(
    submissions: Sequence[Path | str] | Sequence[Paper] | Path | str,
    reviewers: Path | str | Sequence[Reviewer],
    *,
    settings: MatchSettings | None = None,
    files: MatchFiles = NO_FILES,
    encoder: EncoderProtocol | str | None = None,
    skip_bad: bool = False,
    progress: Progress = show_nothing,
) -> Matching:
    """Assign reviewers to submissions, with reasons and an audit.

    submissions: paper files, or papers. reviewers: a folder with one paper file each, a table or JSON lines, or
    reviewers in memory. encoder: or a model's name; default: the model that ships. skip_bad: unusable records, and
    pairs of unknown ids, are dropped and counted. Raises InputError where an input is wrong, or no assignment
    satisfies the requirements: it names the submissions or reviewers and the constraint.
    """
    settings, report, dropped = settings or MatchSettings(), ReadReport(), DropReport()
    given = [submissions] if isinstance(submissions, str | Path) else submissions
    items = [Path(item) if isinstance(item, str) else item for item in given]
    paths = [item for item in items if isinstance(item, Path)]
    progress("reading")
    papers, authorships = _read_submissions(items, files.authors, skip_bad, report)
    if isinstance(reviewers, str | Path):
        paths.append(Path(reviewers))
        reviewers = read_reviewers(paths[-1], files.reviewer_papers, skip_bad=skip_bad, report=report, dropped=dropped)
    people = _check_reviewers(reviewers)
    ids, numbers = [paper.id for paper in papers], [reviewer.id for reviewer in people]
    stated = read_stated_pairs(files, PairReader(IdIndex(ids), ReviewerIndex(people), skip_bad, dropped))
    written = (paper for reviewer in people for paper in reviewer.papers)
    year = max((paper.year or 0 for paper in (*papers, *written)), default=0)
    compared = ConflictInput(papers, authorships, people, year - COAUTHOR_YEARS + 1)
    forbidden = join_forbidden(stated, find_conflicts(compared), (ids, numbers))
    described = _describe_inputs(papers, people, stated, forbidden)
    described["conflicts not checked"] = list_unchecked(compared)
    described["dropped"] = dropped.to_json()
    described["skipped"] = [str(record) for record in report.skipped[:MAX_LISTED]]
    described["counts"]["records skipped"] = report.skipped_count
    required = _require(papers, people, stated, forbidden, settings)
    if stated.scores is not None:
        scores, encoder = PairScores.of_file(stated.scores, required.shape), None
    else:
        if not any(reviewer.papers for reviewer in people):
            raise InputError(
                f"none of {len(people):,} reviewers has a paper, so there is nothing to score by; name papers with "
                "--reviewer-papers, or scores with --scores"
            )
        encoder = find_encoder(encoder or "")
        own, profiles = build_profiles(people)
        parts = {"submissions": papers, "reviewers' papers": own}
        submitted, vectors = encode_papers(encoder, parts, progress=progress).values()
        scorer = ExpertiseScorer(submitted, vectors, profiles, settings.best)
        scores = PairScores(scorer.score_all(progress), explain=partial(scorer.find_nearest, own))
        versions = described["counts"]["papers of reviewers"] - sum(map(len, profiles))
        described["counts"]["papers listed in several versions"] = versions
    task = AssignmentTask(required, scores, stated, settings)
    progress("assigning")
    solved = solve_assignment(task)
    progress("explaining")
    assigned, considered = describe_pairs(task, papers, solved), solved.all
    details = build_details(task, papers, people, solved, assigned)
    matching = Matching(
        pairs=assigned,
        reviewers=numbers,
        audit={},
        conflicts=[(ids[c.paper], numbers[c.reviewer], c.kind, c.reason) for c in forbidden.conflicts],
        details=details | {"forbidden": [[*pair, reason] for pair, reason in forbidden.reasons.items()]},
        scored=lambda: (
            (ids[row], numbers[number], round(float(score), 6))
            for row, number, score in zip(considered.papers, considered.reviewers, considered.scores, strict=True)
        ),
    )
    hashed = [*paths, *files.listed()]
    matching.audit.update(build_audit(matching, solved, settings, encoder, files=hashed, inputs=described))
    return matching


def _check_reviewers(reviewers: Sequence[Reviewer]) -> list[Reviewer]:
    """Return reviewers with normalized ids; InputError for none, or two of one id."""
    if not reviewers:
        raise InputError("no reviewer")
    people = [replace(reviewer, id=normalize_id(reviewer.id)) for reviewer in reviewers]
    ids = Counter(reviewer.id for reviewer in people)
    if repeated := next((id for id, count in ids.items() if count > 1), ""):
        raise InputError(f"two reviewers have the id {repeated!r}")
    return people


def _require(
    papers: Sequence[Paper],
    people: Sequence[Reviewer],
    stated: StatedPairs,
    forbidden: ForbiddenReport,
    settings: MatchSettings,
) -> Requirements:
    """Return the requirements of the assignment; reviews of earlier rounds count."""
    limits = list[tuple[int, int]]()
    for person in people:
        most = settings.max_papers if person.most is None else person.most
        least = person.least or 0
        if least > most:
            raise InputError(
                f"reviewer {person.id} must review at least {least} submissions, and at most {most}; change "
                "--max-papers or the limits in the table"
            )
        limits.append((least, most))
    left = np.maximum(np.array(limits, np.int64) - stated.list_loads(len(people))[:, None], 0)
    return Requirements(
        paper_ids=[paper.id for paper in papers],
        reviewer_ids=[reviewer.id for reviewer in people],
        needs=np.full(len(papers), settings.per_paper, np.int64),
        least=left[:, 0],
        most=left[:, 1],
        forbidden=split_pairs(forbidden.reasons),
        locked=split_pairs(stated.list_constrained(1)),
        groups=tuple(_find_group(people, text) for text in settings.require),
    )


def _describe_inputs(
    papers: Sequence[Paper], people: Sequence[Reviewer], stated: StatedPairs, forbidden: ForbiddenReport
) -> dict[str, Any]:
    """Return counts of what was read and forbidden."""
    without_abstract = [paper.id for paper in papers if not paper.abstract]
    without_papers = [reviewer.id for reviewer in people if not reviewer.papers]
    return {
        "counts": {
            "submissions": len(papers),
            "submissions without abstract": len(without_abstract),
            "submissions without authors": sum(not paper.authors for paper in papers),
            "reviewers": len(people),
            "reviewers without papers": len(without_papers),
            "papers of reviewers": sum(len(reviewer.papers) for reviewer in people),
            "forbidden pairs": len(forbidden.reasons),
            "locked pairs": len(stated.list_constrained(1)),
            "bids above 0 on forbidden pairs": len(forbidden.contradicted),
        },
        "conflicts": forbidden.counts,
        "contradicting bids": forbidden.contradicted[:MAX_LISTED],
        "reviewers without papers": without_papers[:MAX_LISTED],
        "submissions without abstract": without_abstract[:MAX_LISTED],
    }


def _read_submissions(
    given: Sequence[Path | Paper], authors: Path | None, skip_bad: bool, report: ReadReport
) -> tuple[list[Paper], list[Authorship]]:
    """Return submissions of files or in memory, and what files say of their authors."""
    read = partial(read_papers, skip_bad=skip_bad, report=report)
    lists = (read(item) if isinstance(item, Path) else [item] for item in given)
    papers = [replace(paper, id=normalize_id(paper.id)) for paper in chain.from_iterable(lists)]
    if not papers:
        raise InputError("no submission to assign; name a file that holds papers")
    first: dict[str, Paper] = {}
    for paper in papers:
        if (other := first.setdefault(paper.id, paper)) is not paper:
            places = f" ({other.place} and {paper.place})" if paper.place else ""
            raise InputError(f"two submissions have the id {paper.id!r}{places}; ids must be distinct")
    index, of_paper = IdIndex(first), [Authorship()] * len(papers)
    for path in (*(item for item in given if isinstance(item, Path)), *([authors] if authors else [])):
        found = [(row, said) for id, said in read_authorships(path).items() if (row := index.find(id)) is not None]
        for row, said in found:
            of_paper[row] = of_paper[row].join(said)
        if path == authors and not found:
            raise InputError(f"{authors} names authors of none of the submissions; its column paper holds their ids")
    return papers, of_paper


def _find_group(reviewers: Sequence[Reviewer], text: str) -> GroupMinimum:
    column, value, minimum = parse_requirement(text)
    key = "".join(filter(str.isalnum, column.casefold()))
    members = np.array([r.groups.get(key, r.groups.get(column, "")).casefold() == value.casefold() for r in reviewers])
    if not members.any():
        columns = sorted({name for reviewer in reviewers for name in reviewer.groups})
        values = sorted({reviewer.groups[key] for reviewer in reviewers if key in reviewer.groups})
        choices = f"its values: {', '.join(values[:10])}" if values else f"columns: {', '.join(columns) or 'none'}"
        raise InputError(f"no reviewer has {column}={value}; {choices}")
    return GroupMinimum(f"{column}={value}", members, minimum)

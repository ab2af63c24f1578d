"""Files of pairs in OpenReview's shape, `submission,reviewer,value`: bids, locks, forbidden ones, earlier rounds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.cleaning import clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import TableLayout, cell_getter, detect_columns, read_rows
from sciprism.uses.matching.conflicts import Conflict
from sciprism.uses.matching.persons import IdIndex
from sciprism.uses.matching.reviewers import ReviewerIndex
from sciprism.uses.matching.settings import MatchFiles

_BIDS = {
    1.0: ("very high", "yes", "eager"),
    0.5: ("high", "maybe", "willing"),
    0.0: ("neutral", "no bid", ""),
    -0.5: ("low", "in a pinch"),
    -1.0: ("very low", "no", "not willing"),
}
BIDS = {word: value for value, words in _BIDS.items() for word in words}  # words of bids -> their values
CONSTRAINTS = {"conflict": -1.0, "forbidden": -1.0, "no conflict": 0.0, "allowed": 0.0, "lock": 1.0, "locked": 1.0}
_HEADERS = {
    "submission": "paper paperid papernumber submission submissionid submissionnumber note noteid forum head id number",
    "reviewer": "reviewerid userid profileid user reviewer profile tail revieweremail useremail email emailaddress "
    "reviewername username member membername person name",
    "value": "score bid weight label constraint value affinity preference rating",
}
"""Field -> headers of its column, without case and punctuation, the best first."""
Pair = tuple[int, int]  # numbers of a submission and a reviewer
Finder = IdIndex | ReviewerIndex  # finds submissions or reviewers by what a file calls them


@dataclass(frozen=True, slots=True, eq=False)
class PairValues:
    """Values of pairs of known submissions and reviewers, each pair once; places: `file, line` of each."""

    papers: Rows
    reviewers: Rows
    values: Doubles
    places: list[str]

    @classmethod
    def build(cls, read: Mapping[Pair, tuple[float, str]]) -> PairValues:
        """Return the pairs of pair -> value and place."""
        papers, reviewers = np.array(list(read), np.int64).reshape(-1, 2).T
        values = np.array([value for value, _ in read.values()], np.float64)
        return cls(papers, reviewers, values, [place for _, place in read.values()])

    def __len__(self) -> int:
        return len(self.values)

    def places_by_pair(self) -> Iterator[tuple[Pair, str]]:
        """Yield each pair with its place."""
        return zip(zip(self.papers.tolist(), self.reviewers.tolist(), strict=True), self.places, strict=True)

    def look_up(self, papers: Rows, reviewers: Rows, shape: tuple[int, int]) -> Doubles:
        """Return the values of some pairs (n,), 0 of those without one. shape: all submissions and reviewers."""
        values: Doubles = sparse.csr_array((self.values, (self.papers, self.reviewers)), shape)[papers, reviewers]
        return values

    def select(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> PairValues:
        """Return the pairs where the mask is True."""
        rows = np.flatnonzero(mask)
        return PairValues(self.papers[rows], self.reviewers[rows], self.values[rows], [self.places[r] for r in rows])


NO_PAIRS = PairValues.build({})


@dataclass(frozen=True, slots=True)
class PairReader:
    """Reads files of pairs for some submissions and reviewers.

    known_only: whether unknown ids are dropped and counted in `dropped` instead of being errors.
    """

    papers: Finder
    reviewers: Finder
    known_only: bool = False
    dropped: DropReport = field(default_factory=DropReport)

    def read(self, path: Path | None, what: str, words: Mapping[str, float]) -> PairValues:
        """Return the pairs of a file, none of no file. what: they are, for messages. words: that stand for values.

        Raises InputError for an unknown id, a value that is no number, a pair with two different values.
        """
        read: dict[Pair, tuple[float, str]] = {}
        for where, paper, reviewer, text in read_pair_rows(path) if path is not None else ():
            value = words.get(text.casefold().replace("_", " "))
            try:
                value = float(text or 1) if value is None else value
            except ValueError:
                value = float("nan")
            if not np.isfinite(value):
                listed = f" or one of {', '.join(filter(None, words))}" if words else ""
                raise InputError(f"{where}: the {what} {text!r} is not a number{listed}")
            row, number = self.papers.find(paper), self.reviewers.find(reviewer)
            if row is None or number is None:
                self._drop(where, what, *(("submission", paper) if row is None else ("reviewer", reviewer)))
                continue
            before = read.setdefault((row, number), (value, where))
            if before[0] != value:
                raise InputError(
                    f"{where}: {what} of {paper} and {reviewer} is {text or value}, but {before[0]:g} in {before[1]}; "
                    "remove one"
                )
        return PairValues.build(read)

    def read_earlier(self, path: Path) -> Iterator[tuple[str, str, int | None, int | None]]:
        """Yield place, name and numbers of the pairs of an earlier assignment; None for what is gone."""
        for where, paper, reviewer, _ in read_pair_rows(path):
            yield where, f"{paper} {reviewer}", self.papers.find(paper), self.reviewers.find(reviewer)

    def _drop(self, where: str, what: str, kind: str, name: str) -> None:
        index, other = (self.papers, self.reviewers)[:: 1 if kind == "submission" else -1]
        unknown = f"several {kind}s called" if index.find_all(name) else f"an unknown {kind}"
        if not self.known_only:
            is_other = other.find(name) is not None
            advice = "name the columns in a header line" if is_other else "remove it or pass --skip-bad"
            raise InputError(f"{where}: {what} of {unknown} {name!r}; {advice}")
        self.dropped.add(f"{what} of {unknown}", name)


def read_pair_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield place, submission, reviewer and value (may be empty) of each row.

    A header line may name the columns; , ; or tabs separate cells. A .json file is an assignment in OpenReview's form.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".json":
        yield from _read_assignment(path)
        return
    file = InputFile(path)
    layout, columns = detect_columns(file.head(), _HEADERS)
    if not columns:  # no header line
        columns = {"submission": [0], "reviewer": [1], "value": [2]}
        layout = TableLayout((), layout.delimiter, 1)
    for kind in ("submission", "reviewer"):
        if kind not in columns:
            listed = ", ".join(layout.headers)
            raise InputError(f"{path}: no column of the {kind}; columns: {listed}; name one {kind!r}")
    for cells, fault in read_rows(file, layout):
        text = cell_getter(cells, columns)
        if not fault and not (text("submission") and text("reviewer")):
            fault = f"{len(cells)} cells; write submission,reviewer,value"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        yield f"{path}, line {file.record_line}", clean_id(text("submission")), text("reviewer"), text("value")


def _read_assignment(path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for paper, reviewers in content.items():
            for pair in reviewers:
                yield f"{path}, {paper}", str(paper), str(pair["user"]), str(pair.get("aggregate_score", ""))
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        form = '{submission: [{"user": reviewer, "aggregate_score": number}]}'
        raise InputError(f"{path} is no assignment of the form {form}: {error!r}") from error


def write_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV, atomically."""
    write_lines(path, map(join_cells, rows), errors="replace")


@dataclass(frozen=True, slots=True, eq=False)
class StatedPairs:
    """Pairs that the files name. allowed: although a conflict was found. earlier: of earlier rounds; kept: of an
    earlier assignment of this round.

    earlier_loads: reviews of each reviewer in earlier rounds, of this file's submissions and of others.
    """

    bids: PairValues = NO_PAIRS
    locked: PairValues = NO_PAIRS
    forbidden: PairValues = NO_PAIRS
    allowed: PairValues = NO_PAIRS
    earlier: PairValues = NO_PAIRS
    kept: PairValues = NO_PAIRS
    scores: PairValues | None = None
    earlier_loads: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


def read_stated_pairs(files: MatchFiles, reader: PairReader, reviewers: int) -> StatedPairs:
    """Read all files of pairs. Pairs of earlier assignments may name submissions and reviewers that are gone.

    reviewers: how many there are.
    """
    constraints = reader.read(files.constraints, "constraint", CONSTRAINTS)
    bids = reader.read(files.bids, "bid", BIDS)
    for place, bid in zip(bids.places, bids.values.tolist(), strict=True):
        if abs(bid) > 1:
            raise InputError(f"{place}: the bid {bid:g} is not from -1 to 1; divide all bids by the highest")
    for place, value in zip(constraints.places, constraints.values.tolist(), strict=True):
        if value not in (-1, 0, 1):
            raise InputError(
                f"{place}: the constraint {value:g} is none of -1 (forbidden), 0 (no conflict) and 1 (locked)"
            )
    loads = np.zeros(reviewers, np.int64)
    earlier, kept = dict[Pair, tuple[float, str]](), dict[Pair, tuple[float, str]]()
    for path in files.after:
        for where, _, row, number in reader.read_earlier(path):
            if number is not None:  # else of another pool, such as metareviewers
                loads[number] += 1
                if row is not None:
                    earlier.setdefault((row, number), (1.0, where))
    for where, name, row, number in reader.read_earlier(files.keep) if files.keep is not None else ():
        if row is None or number is None:
            reader.dropped.add(f"earlier pair whose {'submission' if row is None else 'reviewer'} is gone", name)
        else:
            kept.setdefault((row, number), (1.0, where))
    lenient = PairReader(reader.papers, reader.reviewers, True, reader.dropped)
    return StatedPairs(
        bids=bids,
        locked=constraints.select(constraints.values == 1),
        forbidden=constraints.select(constraints.values == -1),
        allowed=constraints.select(constraints.values == 0),
        earlier=PairValues.build(earlier),
        kept=PairValues.build(kept),
        scores=lenient.read(files.scores, "score", {}) if files.scores else None,
        earlier_loads=loads,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ForbiddenReport:
    """All forbidden pairs with their reasons, counts of their kinds, and the bids above 0 on them, which are ignored.

    conflicts: those found, without those on pairs that a file allows. contradicted: these bids, each with the reason.
    """

    reasons: dict[Pair, str]
    counts: dict[str, int]
    conflicts: list[Conflict]
    contradicted: list[str]


def join_forbidden(
    stated: StatedPairs, conflicts: Iterable[Conflict], ids: tuple[Sequence[str], Sequence[str]]
) -> ForbiddenReport:
    """Return the pairs that are forbidden by files, by found conflicts or because an earlier round has them.

    Raises InputError for a locked pair that is forbidden. A bid above 0 on a forbidden pair is ignored, and listed with
    the reason.
    """
    allowed = {pair for pair, _ in stated.allowed.places_by_pair()}
    found = [conflict for conflict in conflicts if (conflict.paper, conflict.reviewer) not in allowed]
    counts = Counter(conflict.kind for conflict in found)
    reasons: dict[Pair, str] = {}
    for conflict in found:
        reasons.setdefault((conflict.paper, conflict.reviewer), f"{conflict.kind}: {conflict.reason}")
    for kind, given in (("forbidden", stated.forbidden), ("earlier round", stated.earlier)):
        counts[kind] += len(given)
        reasons |= {pair: f"{kind}: {place}" for pair, place in given.places_by_pair()}
    locked, contradicted = (
        [
            f"{place}: {ids[1][pair[1]]} {what} {ids[0][pair[0]]}, but {reasons[pair]}"
            for pair, place in pairs.places_by_pair()
            if pair in reasons
        ]
        for pairs, what in (
            (stated.locked, "is locked to"),
            (stated.bids.select(stated.bids.values > 0), "bids on"),
        )
    )
    if locked:
        raise InputError(f"{locked[0]}; remove the lock, or the conflict if it is none ({len(locked)} in all)")
    return ForbiddenReport(reasons, {kind: n for kind, n in counts.items() if n}, found, contradicted)

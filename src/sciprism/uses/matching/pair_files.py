"""Files of pairs in OpenReview's shape, `submission,reviewer,value`: bids, locks, forbidden ones, earlier rounds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.cleaning import clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import TableLayout, cell_getter, detect_columns, read_rows
from sciprism.uses.matching.conflicts import Conflict
from sciprism.uses.matching.feasibility import name_some
from sciprism.uses.matching.persons import IdIndex
from sciprism.uses.matching.program import ForbiddenPairs
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


@dataclass(frozen=True, slots=True, eq=False)
class PairValues:
    """Values of pairs of known submissions and reviewers, each pair once; places: `file, line` of each."""

    papers: Rows
    reviewers: Rows
    values: Doubles
    places: list[str]

    def __len__(self) -> int:
        return len(self.values)

    def places_by_pair(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield each pair, submission and reviewer, with its place."""
        pairs = zip(self.papers.tolist(), self.reviewers.tolist(), strict=True)
        return zip(pairs, self.places, strict=True)

    def look_up(self, papers: Rows, reviewers: Rows, count: int) -> Doubles:
        """Return the values of some pairs (n,), 0 of those without one. count: of all reviewers."""
        if not len(self):
            return np.zeros(len(papers))
        keys, wanted = self.papers * count + self.reviewers, papers * count + reviewers
        order = np.argsort(keys)
        places = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        values: Doubles = np.where(keys[places] == wanted, self.values[places], 0.0)
        return values

    def select(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> PairValues:
        """Return the pairs where the mask is True."""
        rows = np.flatnonzero(mask)
        places = [self.places[row] for row in rows.tolist()]
        return PairValues(self.papers[rows], self.reviewers[rows], self.values[rows], places)


NO_PAIRS = PairValues(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), [])


Finder = IdIndex | ReviewerIndex  # finds submissions or reviewers by what a file calls them


@dataclass(frozen=True, slots=True)
class PairReader:
    """Reads files of pairs for some submissions and reviewers.

    known_only: whether unknown ids are dropped and counted in `dropped` instead of being errors.
    """

    papers: Finder
    reviewers: Finder
    known_only: bool = False
    dropped: DropReport = field(default_factory=DropReport)

    def read(self, path: Path, what: str, words: Mapping[str, float] | None = None) -> PairValues:
        """Return the pairs of a file. what: they are, for messages. words: that stand for values.

        Raises InputError for an unknown id, a value that is no number, a pair with two different values.
        """
        read: dict[tuple[int, int], tuple[float, str]] = {}
        for where, paper, reviewer, text in read_pair_rows(path):
            value = self._parse(where, what, text, words or {})
            rows = self._find(where, what, paper, reviewer)
            if rows is None:
                continue
            before = read.setdefault(rows, (value, where))
            if before[0] != value:
                raise InputError(
                    f"{where}: {what} of {paper} and {reviewer} is {text or value}, but {before[0]:g} in {before[1]}; "
                    "remove one"
                )
        papers, reviewers = np.array(list(read), np.int64).reshape(-1, 2).T
        values = np.array([value for value, _ in read.values()])
        return PairValues(papers, reviewers, values, [where for _, where in read.values()])

    def _find(self, where: str, what: str, paper: str, reviewer: str) -> tuple[int, int] | None:
        row, number = self.papers.find(paper), self.reviewers.find(reviewer)
        if row is not None and number is not None:
            return row, number
        kind, name, index = (
            ("submission", paper, self.papers) if row is None else ("reviewer", reviewer, self.reviewers)
        )
        unknown = f"several {kind}s called" if index.find_all(name) else f"an unknown {kind}"
        if not self.known_only:
            swapped = self.papers.find(reviewer) is not None and self.reviewers.find(paper) is not None
            advice = "name the columns in a header line" if swapped else "remove it or pass --skip-bad"
            raise InputError(f"{where}: {what} of {unknown} {name!r}; {advice}")
        self.dropped.add(f"{what} of {unknown}", name)
        return None

    @staticmethod
    def _parse(where: str, what: str, text: str, words: Mapping[str, float]) -> float:
        if (stated := words.get(text.casefold().replace("_", " "))) is not None:
            return stated
        try:
            value = float(text or 1)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            listed = f" or one of {', '.join(filter(None, words))}" if words else ""
            raise InputError(f"{where}: the {what} {text!r} is not a number{listed}")
        return value


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
        where = f"{path}, line {file.record_line}"
        if not fault and len(cells) <= max(columns["submission"][0], columns["reviewer"][0]):
            fault = f"{len(cells)} cells; write submission,reviewer,value"
        if fault:
            raise InputError(f"{where}: {fault}")
        text = cell_getter(cells, columns)
        yield where, clean_id(text("submission")), text("reviewer"), text("value")


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
    lenient = PairReader(reader.papers, reader.reviewers, True, reader.dropped)
    constraints = reader.read(files.constraints, "constraint", CONSTRAINTS) if files.constraints else NO_PAIRS
    bids = reader.read(files.bids, "bid", BIDS) if files.bids else NO_PAIRS
    if len(large := np.flatnonzero(np.abs(bids.values) > 1)):
        where, bid = bids.places[large[0]], bids.values[large[0]]
        raise InputError(f"{where}: the bid {bid:g} is not from -1 to 1; divide all bids by the highest")
    odd = np.flatnonzero(~np.isin(constraints.values, (-1, 0, 1)))
    if len(odd):
        raise InputError(
            f"{constraints.places[odd[0]]}: the constraint {constraints.values[odd[0]]:g} is none of -1 (forbidden), "
            "0 (no conflict) and 1 (locked)"
        )
    loads = np.zeros(reviewers, np.int64)
    earlier: dict[tuple[int, int], str] = {}
    for path in files.after:
        for where, paper, reviewer, _ in read_pair_rows(path):
            number, row = reader.reviewers.find(reviewer), reader.papers.find(paper)
            if number is None:
                continue  # of another pool, such as metareviewers
            loads[number] += 1
            if row is not None:
                earlier.setdefault((row, number), where)
    return StatedPairs(
        bids=bids,
        locked=constraints.select(constraints.values == 1),
        forbidden=constraints.select(constraints.values == -1),
        allowed=constraints.select(constraints.values == 0),
        earlier=_as_pairs(earlier),
        kept=_read_kept(files, lenient),
        scores=lenient.read(files.scores, "score") if files.scores else None,
        earlier_loads=loads,
    )


def _read_kept(files: MatchFiles, reader: PairReader) -> PairValues:
    """Return the pairs of an earlier assignment, whatever their scores were."""
    places: dict[tuple[int, int], str] = {}
    for where, paper, reviewer, _ in read_pair_rows(files.keep) if files.keep is not None else ():
        row, number = reader.papers.find(paper), reader.reviewers.find(reviewer)
        if row is not None and number is not None:
            places.setdefault((row, number), where)
        else:
            gone = "submission" if row is None else "reviewer"
            reader.dropped.add(f"earlier pair whose {gone} is gone", f"{paper} {reviewer}")
    return _as_pairs(places)


def _as_pairs(places: dict[tuple[int, int], str]) -> PairValues:
    rows = np.array(list(places), np.int64).reshape(-1, 2)
    return PairValues(rows[:, 0], rows[:, 1], np.ones(len(rows)), list(places.values()))


@dataclass(frozen=True, slots=True, eq=False)
class ForbiddenReport:
    """All forbidden pairs, counts of their kinds, and the bids above 0 on them, which are ignored.

    reasons: of each pair, by submission and reviewer. contradicted: these bids, each with the reason.
    """

    pairs: ForbiddenPairs
    counts: dict[str, int]
    contradicted: list[str]
    reasons: dict[tuple[int, int], str]


def drop_allowed(stated: StatedPairs, conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Return the conflicts without those on pairs that a file allows."""
    allowed = {pair for pair, _ in stated.allowed.places_by_pair()}
    return [conflict for conflict in conflicts if (conflict.paper, conflict.reviewer) not in allowed]


def join_forbidden(
    stated: StatedPairs, conflicts: Sequence[Conflict], ids: tuple[list[str], list[str]]
) -> ForbiddenReport:
    """Return the pairs that are forbidden by files, by found conflicts or because an earlier round has them.

    conflicts: without those on pairs that a file allows (`drop_allowed`). Raises InputError for a locked pair that is
    forbidden. A bid above 0 on a forbidden pair is ignored, and listed with the reason.
    """
    reasons: dict[tuple[int, int], str] = {}
    counts = Counter(conflict.kind for conflict in conflicts)
    for conflict in conflicts:
        reasons.setdefault((conflict.paper, conflict.reviewer), f"{conflict.kind}: {conflict.reason}")
    for kind, given in (("forbidden", stated.forbidden), ("earlier round", stated.earlier)):
        counts[kind] += len(given)
        reasons |= {pair: f"{kind}: {place}" for pair, place in given.places_by_pair()}
    if wrong := _find_contradictions(stated.locked, "is locked to", reasons, ids):
        raise InputError(
            f"{name_some(wrong[:3])}; remove the lock, or the conflict if it is none ({len(wrong)} in all)"
        )
    wrong = _find_contradictions(stated.bids.select(stated.bids.values > 0), "bids on", reasons, ids)
    papers, reviewers = np.array(list(reasons), np.int64).reshape(-1, 2).T
    pairs = ForbiddenPairs(papers, reviewers, (len(ids[0]), len(ids[1])))
    return ForbiddenReport(pairs, {k: n for k, n in counts.items() if n}, wrong, reasons)


def _find_contradictions(
    pairs: PairValues, what: str, reasons: dict[tuple[int, int], str], ids: tuple[list[str], list[str]]
) -> list[str]:
    """Return of each stated pair that is forbidden who does what, and why it is forbidden."""
    return [
        f"{place}: {ids[1][pair[1]]} {what} {ids[0][pair[0]]}, but {reasons[pair]}"
        for pair, place in pairs.places_by_pair()
        if pair in reasons
    ]

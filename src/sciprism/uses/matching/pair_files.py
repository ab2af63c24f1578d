"""Files of pairs in OpenReview's shape, `submission,reviewer,value`: scores, bids, constraints, assignments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sciprism.arrays import Doubles, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.cleaning import clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import TableLayout, cell_getter, detect_columns, read_rows
from sciprism.uses.matching.persons import IdIndex
from sciprism.uses.matching.reviewers import ReviewerIndex

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

"""Screen a review: decisions in a table that a person can edit, the next records by a linear SVM, when to stop."""

from __future__ import annotations

import os
import re
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.drop_report import CONTAINERS
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, join_cells
from sciprism.index.lexical import split_words
from sciprism.papers.cleaning import MISSING_VALUES, clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_columns, read_rows
from sciprism.uses.deduplication import dedupe

INCLUDE, EXCLUDE, UNSURE, UNDO = "include", "exclude", "unsure", "undo"
_COLUMNS: dict[str, Any] = tomllib.loads((files(__package__) / "columns.toml").read_text(encoding="utf-8"))
_HEADERS: dict[str, str] = _COLUMNS["headers"]
_WORDS = {"" if decision == "none" else decision: words for decision, words in _COLUMNS["words"].items()}
MEANINGS = {word: decision for decision, words in _WORDS.items() for word in words.split()}
"""What files write -> the decision, "" for none yet."""
_NOTES = re.compile(r'RAYYAN-INCLUSION:.*?=>\s*"(\w+)"|ASReview_(relevant|irrelevant|not_seen)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one screener decided of one record. screener: "" where there is one. time: ISO 8601, as we write it."""

    id: str
    title: str = ""
    decision: str = ""
    reason: str = ""
    screener: str = ""
    time: str = ""


COLUMNS = tuple(item.name for item in fields(Decision))
HEADER = f"{join_cells(COLUMNS)}\n".encode()


def read_decisions(path: Path) -> tuple[list[Decision], list[str]]:
    """Return the decisions of a table in its order, without rows that have none, and a note on a half-written line.

    Raises InputError for a table without the columns id and decision, or a decision that is none, with its line.
    """
    data = path.read_bytes() if path.is_file() else b""
    if HEADER.startswith(data):
        return [], []  # new, or killed before the first line was written
    file = InputFile(path, encoding="" if data.endswith(b"\n") else "utf-8")  # half a letter is no other encoding
    layout, columns = detect_columns(file.head(), _HEADERS)
    if missing := {"id", "decision"} - columns.keys():
        raise InputError(f"{path} has no column {' and '.join(sorted(missing))}; its first line must name both")
    decisions, last_line = list[Decision](), data.count(b"\n") + 1
    for cells, fault in read_rows(file, layout):
        place = f"{path}, line {file.record_line}"
        if file.record_line == last_line and (fault or len(cells) < len(layout.headers)):
            return decisions, [f"{place}: half-written by a killed process, left out; decide that record again"]
        text = cell_getter(cells, columns)
        values = {name: text(name) for name in COLUMNS} | {"id": clean_id(text("id"))}
        values["decision"] = parse_decision(values["decision"], place)
        if fault or (values["decision"] and not values["id"]):
            raise InputError(f"{place}: {fault or 'a decision without the id of its record'}")
        if values["decision"]:
            decisions.append(Decision(**values))
    return decisions, []


def parse_decision(text: str, place: str) -> str:
    """Return the decision that a word stands for, "" for none yet. Raises InputError for another word."""
    word = text.strip().casefold()
    if word and word not in MISSING_VALUES and word not in MEANINGS:
        raise InputError(f"{place}: {text!r} is not a decision; write include (1), exclude (0), unsure, or nothing")
    return MEANINGS.get(word, "")


def append_decision(path: Path, decision: Decision) -> None:
    """Add a decision to a table and wait until it is on the disk; a half-written last line is removed first.

    A table that a person has saved keeps its columns, their order and the delimiter.
    """
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            file.seek(0)
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            if whole and whole != data and not read_decisions(path)[1]:
                file.write(b"\n")  # a person's last line
            else:
                file.truncate(len(whole))
            if not whole:
                file.write(HEADER)
            layout, columns = detect_columns((whole or HEADER).decode("utf-8-sig", "replace"), _HEADERS)
            names = {numbers[0]: name for name, numbers in columns.items()}
            values = asdict(decision)
            cells = [values.get(names.get(column, ""), "") for column in range(len(layout.headers))]
            file.write(f"{join_cells(cells, layout.delimiter)}\n".encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())


def read_labels(papers: Iterable[Paper]) -> dict[int, str]:
    """Return position -> decision of papers that their files label: columns of ASReview and others, notes of Rayyan.

    Raises InputError for a label that is not a decision.
    """
    files: dict[str, list[tuple[int, int]]] = {}
    for position, paper in enumerate(papers):
        if paper.place is not None and paper.place.line is not None:
            files.setdefault(paper.place.file, []).append((paper.place.line, position))
    labels: dict[int, str] = {}
    for name, starts in files.items():
        path = Path(name)  # standard input is read already
        for line, label in _list_labels(InputFile(path)) if path.is_file() else ():
            row = bisect_right(starts, line, key=lambda start: start[0]) - 1
            if label and row >= 0:
                labels[starts[row][1]] = label
    return labels


def _list_labels(file: InputFile) -> Iterator[tuple[int, str]]:
    """Yield the line and the decision of each label in a text file."""
    if file.wrong_kind(binary=False):  # a workbook
        return
    headers = {"label": _COLUMNS["labels"], "title": "title primarytitle articletitle"}
    layout, columns = detect_columns(file.head(), headers)
    if len(columns) == len(headers):
        header = layout.headers[columns["label"][0]]
        for cells, _ in read_rows(file, layout):
            place = f"{file.path}, line {file.record_line}, column {header!r} (rename it if it holds no decisions)"
            yield file.record_line or 0, parse_decision(cell_getter(cells, columns)("label"), place)
    else:
        for line, text in file.lines():
            for note in _NOTES.findall(text):
                yield line, parse_decision("".join(note), f"{file.path}, line {line}")


CONFLICT = "conflict"  # what a record is that one screener includes and another excludes


class Screening:
    """The records of a review and all decisions on them; duplicates are one record, named by its first position.

    Of labels that contradict each other within one record, included outweighs excluded; `contradictions` counts them.
    decisions: tables, read in this order; new decisions go to the first. criteria: a text that relevant records
    resemble.
    encode: returns vectors of papers (n, d), which count a twentieth beside words (`Encoder().encode`), or None while
    they are not computed, and is then asked again at the next ranking; until then, and without it, words alone rank.
    """

    def __init__(
        self,
        papers: Sequence[Paper],
        decisions: Sequence[Path] = (),
        *,
        criteria: str = "",
        encode: Callable[[list[Paper]], Floats | None] | None = None,
    ) -> None:
        if not papers:
            raise InputError("no record to screen; name files with records")
        found = dedupe(papers)
        groups, self.containers = found.groups, len(found.containers)
        owners = {row: row for row in range(len(papers))} | {row: group[0] for group in groups for row in group}
        self._fullest = {group[0]: max(group, key=lambda row: len(papers[row].abstract)) for group in groups}
        seen = Counter[str]()  # the second and further records of an id, which may be a row's number, are numbered
        self._papers = list[Paper]()
        for paper in papers:
            seen[paper.id] += 1
            again = seen[paper.id]
            self._papers.append(paper if again == 1 else replace(paper, id=f"{paper.id} ({again})"))
        self._renamed = sum(count > 1 for count in seen.values())
        self.records = [row for row, owner in owners.items() if owner == row]
        self.by_id = {paper.id: owners[row] for row, paper in enumerate(self._papers)}
        given = {(owners[row], label) for row, label in read_labels(papers).items()}
        self.labels = dict(sorted(given, key=lambda pair: (UNSURE, EXCLUDE, INCLUDE).index(pair[1])))  # the last counts
        self.contradictions = sum(n > 1 for n in Counter(row for row, label in given if label != UNSURE).values())
        self.files, self.criteria, self._encode = list(decisions), criteria, encode
        self.notes, self.unknown, self._changed = list[str](), list[str](), 0
        self._log, self._state = list[Decision](), dict[int, dict[str, Decision]]()
        self._ranker: RecordRanker | None = None
        for path in self.files:
            read, notes = read_decisions(path)
            self.notes += notes
            for decision in read:
                self._apply(decision)

    def _apply(self, decision: Decision) -> None:
        if decision.id not in self.by_id:
            self.unknown.append(decision.id)
            return
        self._log.append(decision)
        by_screener = self._state.setdefault(self.by_id[decision.id], {})
        before = by_screener.pop(decision.screener, None)
        if decision.decision != UNDO:
            self._changed += before is not None and before.decision != decision.decision
            by_screener[decision.screener] = decision

    def paper(self, record: int) -> Paper:
        """Return a record's paper: of duplicates the one with the longest abstract, under the first one's id."""
        return replace(self._papers[self._fullest.get(record, record)], id=self._papers[record].id)

    def decide(self, id: str, decision: str, *, reason: str = "", screener: str = "") -> None:
        """Store a decision, on the disk when this returns. Raises InputError for an unknown id."""
        if id not in self.by_id:
            raise InputError(f"no record has the id {id!r}")
        title = " ".join(self.paper(self.by_id[id]).title.split())
        time = datetime.now(UTC).isoformat(timespec="seconds")
        made = Decision(id=id, title=title, decision=decision, reason=reason, screener=screener, time=time)
        if self.files:
            append_decision(self.files[0], made)
        self._apply(made)

    def undo(self, screener: str = "") -> str:
        """Withdraw a screener's latest decision that stands; return the record's id, "" where there is none."""
        for decision in reversed(self._log):
            if self._state[self.by_id[decision.id]].get(screener) is decision:
                self.decide(decision.id, UNDO, screener=screener)
                return decision.id
        return ""

    def verdict(self, record: int) -> str:
        """Return what is decided of a record: include, exclude, unsure, conflict, or "" for nothing."""
        words = {decision.decision for decision in self._state.get(record, {}).values()}
        if {INCLUDE, EXCLUDE} <= words:
            return CONFLICT
        return min(words, key=(INCLUDE, EXCLUDE, UNSURE).index) if words else self.labels.get(record, "")

    def reasons(self, record: int) -> str:
        """Return why a record was excluded, "" where nobody says."""
        given = (decision.reason for decision in self._state.get(record, {}).values())
        return "; ".join(dict.fromkeys(filter(None, given)))

    def rank(self, screener: str = "", *, double: bool = False) -> list[int]:
        """Return the records left to a screener, the likeliest to be included first.

        double: also those that only others decided. Before anything is included the order is random, or with criteria
        that of the similarity to them.
        """
        done = {row for row, by in self._state.items() if (screener in by if double else by)} | self.labels.keys()
        left = [row for row in self.records if row not in done]
        included = [row for row in self.records if self.verdict(row) in (INCLUDE, CONFLICT)]
        if not included and not self.criteria:
            return [*np.random.default_rng(0).permutation(left).tolist()]
        if self._ranker is None or self._encode is not None:
            criteria = [Paper(id="criteria", title=self.criteria)] if self.criteria else []
            papers = [*map(self.paper, range(len(self._papers))), *criteria]
            vectors = None if self._encode is None else self._encode(papers)
            if self._ranker is None or vectors is not None:
                self._ranker = RecordRanker([f"{paper.title} {paper.abstract}" for paper in papers], vectors)
                self._encode = self._encode if vectors is None else None
        latest = {self.by_id[decision.id]: place for place, decision in enumerate(self._log)}
        excluded = [row for row in self.records if self.verdict(row) == EXCLUDE]
        excluded.sort(key=lambda row: latest.get(row, -1))
        if self.criteria:
            included.append(len(self._papers))
        scores = self._ranker.score(np.array(included, np.int64), np.array(excluded, np.int64))
        return sorted(left, key=lambda row: (-scores[row], row))

    def p_value(self, target: float) -> float | None:
        """Return the p-value of a recall below the target (`recall_p_value`); None before anything is included."""
        order = dict.fromkeys(self.by_id[decision.id] for decision in self._log)
        found = [self.verdict(row) != EXCLUDE for row in order if self._state[row] and row not in self.labels]
        known = sum(label != EXCLUDE for label in self.labels.values())
        left = len(self.records) - len(self.labels)
        return recall_p_value(found, left, target, known) if known or any(found) else None

    def advise(self) -> dict[str, Any]:
        """Return the p-value of a recall below `TARGET`, and whether it is below `RISK`: then screening may stop."""
        p_value = self.p_value(TARGET)
        return {"p_value": p_value, "stop": p_value is not None and p_value < RISK, "target": TARGET}

    def report(self) -> dict[str, Any]:
        """Return the counts of PRISMA 2020's flow diagram and others, agreement (Cohen's kappa), and conflicts."""
        verdicts = Counter(map(self.verdict, self.records))
        reasons = Counter(self.reasons(row) for row in self.records if self.verdict(row) == EXCLUDE)
        counts = {
            "records identified": len(self._papers),
            "duplicates removed": len(self._papers) - len(self.records),
            "records screened": len(self.records) - verdicts[""],
            "included": verdicts[INCLUDE],
            "excluded": verdicts[EXCLUDE],
            "unsure": verdicts[UNSURE],
            "conflicts": verdicts[CONFLICT],
            "not screened": verdicts[""],
            "labelled in the file": len(self.labels),
            "contradicting labels": self.contradictions,
            "without abstract": sum(not self.paper(row).abstract for row in self.records),
            "decisions changed": self._changed,
            "decisions on unknown ids": len(self.unknown),
            "ids of several papers, numbered": self._renamed,
            CONTAINERS: self.containers,
        }
        words = [{name: made.decision for name, made in by.items()} for by in self._state.values()]
        pairs = combinations(sorted({name for by in words for name in by}), 2)
        conflicts = (row for row in self.records if self.verdict(row) == CONFLICT)
        return {
            "counts": counts,
            "reasons": {reason or "(none given)": count for reason, count in reasons.most_common()},
            "agreement": {
                f"{one} and {other}": measure_agreement(
                    [(by[one], by[other]) for by in words if {one, other} <= by.keys()]
                )
                for one, other in pairs
            },
            "conflicts": [asdict(decision) for row in conflicts for decision in self._state[row].values()],
            "unknown": list(dict.fromkeys(self.unknown)),
        }


COST = 0.11  # C of the squared hinge loss
BALANCE = 10.0  # weight of all included records together, relative to all excluded ones
MAX_TRAINING = 2000  # excluded records that are learned from, the latest; bounds the time of a training
VECTOR_SHARE = 0.05  # of the vectors in the similarity of two records, beside their words


class RecordRanker:
    """Scores all records by those that were included and excluded.

    texts: of all n records. vectors: (n, d), whose cosines, with their mean taken off, count as `share` says; else
    words alone.
    """

    def __init__(self, texts: Sequence[str], vectors: Floats | None = None, share: float = VECTOR_SHARE) -> None:
        from scipy.sparse import csr_array, hstack

        from sciprism.uses.tagging.evidence import learn_terms

        words = learn_terms(texts, split_words, max_share=1.0).transform(texts)
        self.features = csr_array(words)
        if vectors is not None:
            unit = csr_array(normalize_rows(vectors - vectors.mean(axis=0)))
            self.features = csr_array(hstack([(1 - share) ** 0.5 * words, share**0.5 * unit]))

    def score(self, included: Rows, excluded: Rows) -> Floats:
        """Return a score of each record (n,), the higher the likelier to be included.

        Without excluded records the score is the mean similarity with the included ones, of which there must be some.
        """
        from sklearn.svm import LinearSVC

        if not len(excluded):
            return np.asarray(self.features @ self.features[included].mean(axis=0), np.float32)
        excluded = excluded[-MAX_TRAINING:]
        counts = [len(included), len(excluded)]
        weights = np.repeat([1.0, len(included) / (BALANCE * len(excluded))], counts)
        svm = LinearSVC(C=COST, dual=False)
        rows = np.concatenate([included, excluded])
        svm.fit(self.features[rows], np.repeat([1, -1], counts), weights * len(rows) / weights.sum())
        return np.asarray(svm.decision_function(self.features), np.float32)


TARGET, RISK = 0.95, 0.05  # the recall that is aimed at, and the p-value below which the test advises to stop


def recall_p_value(found: Sequence[bool], records: int, target: float, known: int = 0) -> float:
    """Return the p-value of "recall is below the target" (Callaghan and Müller-Hansen 2020, Systematic Reviews 9:273).

    found: of each screened record in the order of screening, whether it was included. records: all that were to be
    screened. known: included ones known before, which count as found. The records since some moment are taken for a
    random sample of what was unscreened then, the worst case of a ranking; the moment is the one of the lowest p.
    """
    from scipy.stats import hypergeom

    total = known + sum(found)
    hits = np.append(0, np.flatnonzero(found) + 1)  # other moments have a higher p
    before = np.arange(len(hits))
    expected = np.floor(total / target - known - before + 1)  # in the urn, if recall is just below the target
    if (expected > records - hits).any():
        return 0.0
    return float(hypergeom.cdf(total - known - before, records - hits, expected, len(found) - hits).min())


def measure_agreement(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two screeners' decisions on the same records; None where it is not defined."""
    from sklearn.metrics import cohen_kappa_score

    if len({word for pair in pairs for word in pair}) < 2:
        return None
    return float(cohen_kappa_score(*zip(*pairs, strict=True)))


BATCH = 0.05  # records between two trainings, as a share of those screened: one at a time up to 40, then more
CHECKS = 100  # how often the test on recall is made in a replay


def simulate(
    texts: Sequence[str], labels: Sequence[bool], *, vectors: Floats | None = None, seeds: int = 10
) -> list[Rows]:
    """Replay a labelled review from several starts, each of one random included and one random excluded record.

    vectors: of the records, (n, d); else words alone rank. Returns of each start the records in the order of
    screening, without the two known before.
    Raises InputError unless there are two included records and one excluded.
    """
    truth = np.array(labels, bool)
    if truth.sum() < 2 or truth.all():
        counts = f"{truth.sum():,} of {len(truth):,} labelled records are included"
        raise InputError(f"{counts}; a simulation needs two that are and one that is not")
    ranker = RecordRanker(texts, vectors)
    return [replay(ranker.score, truth, seed)[2:] for seed in range(seeds)]


def replay(score: Callable[[Rows, Rows], Floats], truth: np.ndarray[Any, Any], seed: int) -> Rows:
    """Return the records in the order of screening, the two priors first. score: that of `RecordRanker`."""
    generator = np.random.default_rng(seed)
    order = np.array([generator.choice(np.flatnonzero(truth == label)) for label in (True, False)], np.int64)
    left = np.setdiff1d(np.arange(len(truth)), order)
    while truth[left].any():
        scores = score(order[truth[order]], order[~truth[order]])
        batch = left[np.argsort(-scores[left], kind="stable")[: max(1, int(BATCH * len(order)))]]
        order, left = np.concatenate([order, batch]), np.setdiff1d(left, batch)
    return np.concatenate([order, left])


def measure_work(found: ArrayLike) -> dict[str, Any]:
    """Return what finding included records cost. found: of each record in the order of screening, if it is included.

    needed: records until a recall of `TARGET`. last: until all are found. wss: the share of work saved over a random
    order, at `TARGET`. atd: the mean rank of an included record as a share of all (average time to discovery).
    """
    ranks, records = np.flatnonzero(found) + 1, np.size(found)
    needed = int(ranks[int(np.ceil(TARGET * len(ranks))) - 1])
    saved = TARGET - needed / records
    return {"needed": needed, "last": int(ranks[-1]), "wss": saved, "atd": float(ranks.mean()) / records}


def find_stop(found: Sequence[bool]) -> dict[str, Any]:
    """Return after how many records of a replay the test on recall first advised to stop, and the recall there."""
    checks = range(1, len(found), max(1, len(found) // CHECKS))
    stop = next((done for done in checks if recall_p_value(found[:done], len(found), TARGET, known=1) < RISK), None)
    return {"stop": stop, "recall at stop": None if stop is None else sum(found[:stop]) / sum(found)}

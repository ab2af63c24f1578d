"""Decisions on records: a CSV that a person can edit, to which each decision is added at once; labels of files."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sciprism.errors import InputError
from sciprism.files import explain_write_errors, join_cells
from sciprism.papers.cleaning import MISSING_VALUES, clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_columns, normalize_header, read_rows

INCLUDE, EXCLUDE, UNSURE, UNDO = "include", "exclude", "unsure", "undo"
_WORDS = {
    INCLUDE: "include included relevant yes y i 1 1.0 true",
    EXCLUDE: "exclude excluded irrelevant no n e 0 0.0 false",
    UNSURE: "unsure maybe u ?",
    UNDO: "undo",
    "": "-1 undecided not_seen",
}
MEANINGS = {word: decision for decision, words in _WORDS.items() for word in words.split()}
"""What files write -> the decision, "" for none yet."""
_HEADERS = {
    "id": "id paperid recordid",
    "title": "title",
    "decision": "decision verdict included",
    "reason": "reason exclusionreason",
    "screener": "screener reviewer user",
    "time": "time date",
}
_LABELS = "asreviewlabel included label finalincluded labelincluded includedlabel includedfinal include decision"
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
        raise InputError(f"{place}: {text!r} is no decision; write include (1), exclude (0), unsure, or nothing")
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


def read_labels(papers: Iterable[Paper], column: str = "") -> dict[int, str]:
    """Return position -> decision of papers that their files label: columns of ASReview and others, notes of Rayyan.

    column: the header of the labels' column; else a known one. Raises InputError for a label that is no decision.
    """
    files: dict[str, list[tuple[int, int]]] = {}
    for position, paper in enumerate(papers):
        if paper.place is not None and paper.place.line is not None:
            files.setdefault(paper.place.file, []).append((paper.place.line, position))
    labels: dict[int, str] = {}
    for name, starts in files.items():
        path = Path(name)  # standard input is read already
        for line, label in _list_labels(InputFile(path), column) if path.is_file() else ():
            row = bisect_right(starts, line, key=lambda start: start[0]) - 1
            if label and row >= 0:
                labels[starts[row][1]] = label
    if column and not labels:
        raise InputError(f"{', '.join(files)}: no record has a label in {column!r}; name a column of 1 and 0")
    return labels


def _list_labels(file: InputFile, column: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the decision of each label in a text file."""
    if file.wrong_kind(binary=False):  # a workbook
        return
    headers = {"label": normalize_header(column) or _LABELS, "title": "title primarytitle articletitle"}
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

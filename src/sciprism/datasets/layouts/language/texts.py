"""Texts of one segment or two, each with a class, several classes or a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Segments
from sciprism.datasets.layouts.item_tables import number_of, text_of
from sciprism.datasets.layouts.language.parts import (
    NO_TEXT,
    PartFiles,
    Parts,
    cut_dev,
    need_rows,
    together,
    unique_ids,
)
from sciprism.datasets.layouts.language.records import Record, records
from sciprism.datasets.rows import as_id
from sciprism.datasets.sources import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

Target = str | tuple[str, ...] | float

# The first of these names that a record has: BLURB's package, LinkBERT's copy, PubMedQA, BioASQ, open copies.
ONE = ("sentence1", "question", "QUESTION", "sentence", "text")
OTHER = ("sentence2", "context", "contexts", "CONTEXTS")
TARGET = ("label", "score", "answer", "final_decision")
TABLE = ("id", "sentence", "label")
PAIRS = ("id", "sentence1", "sentence2", "label")
NO_TARGET = "no label, left out"
TRAINED = "test text that train has too"


class Text(NamedTuple):
    """The segments of a text and what is to be predicted of it. group: what it is drawn to dev with."""

    id: str
    segments: tuple[str, ...]
    target: Target
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Read one text of each record, or two for pairs, with a class or a number.

    Tables (.tsv) need `columns`; JSON lines, and objects keyed by id, are read by the names that the public
    copies use. A context of several paragraphs is joined by spaces. negative: what labels that contain
    "false", and "0", become: the class of relations that are none. dev_share: of train, where there is no
    dev, drawn by a hash of the ids.
    """

    files: PartFiles
    columns: tuple[str, ...] = TABLE
    pairs: bool = False
    target: Literal["class", "number"] = "class"
    negative: str = ""
    dev_share: float = 0.0

    def read(self, home: DataRoot) -> Segments:
        """Return the texts that have a label; an empty text is kept and counted."""
        tally = DropReport()
        parts = self.files.read(home, lambda path, part: self._texts(home, path, part, tally))
        cut_dev(parts, self.dev_share)
        return segments(parts, tally, self.files.where)

    def _texts(self, home: DataRoot, path: Path, part: Part, tally: DropReport) -> Iterator[Text]:
        for record in records(home, path, self.columns):
            found = [joined(record.need(*ONE))]
            if self.pairs:
                found.append(joined(record.need(*OTHER)))
            if not all(found):
                tally.add(NO_TEXT, f"{part}/{record.id}")
            said = record.need(*TARGET)
            if said in (None, ""):
                tally.add(NO_TARGET, f"{part}/{record.id}")
            else:
                yield Text(record.id, tuple(found), self._target(said, record), record.id)

    def _target(self, said: Any, record: Record) -> Target:
        if self.target == "number":
            return number_of(said, record.where)
        label = as_id(said).strip()
        is_none = label == "0" or "false" in label.casefold()
        return self.negative if self.negative and is_none else label


def joined(value: Any) -> str:
    """Return a text, or the paragraphs of a list joined by one space; empty ones go."""
    return " ".join(filter(None, map(text_of, value if isinstance(value, list) else [value])))


def segments(parts: Parts[Text], tally: DropReport, where: str) -> Segments:
    """Return texts as a protocol's input. Raises InputError where there is nothing to learn or test."""
    need_rows(parts, where)
    _check(parts, tally, where)
    trained = {each.segments for each in parts["train"]}
    for each in parts["test"]:
        if each.segments in trained:
            tally.add(TRAINED, f"test/{each.id}")
    ids = unique_ids(parts, tally)
    whole, rows = together(parts)
    return Segments(
        ids=ids,
        texts=[each.segments for each in whole],
        targets=[each.target for each in whole],  # type: ignore[arg-type]  # all of one type
        train=rows["train"],
        test=rows["test"],
        dev=rows["dev"],
        tally=tally,
    )


def _check(parts: Parts[Text], tally: DropReport, where: str) -> None:
    """Make sure that train has two classes or numbers, or a label; count classes that it lacks."""
    known = {part: {label for each in parts[part] for label in _labels(each.target)} for part in PARTS}
    needed = 1 if isinstance(parts["train"][0].target, tuple) else 2
    if len(known["train"]) < needed:
        named = ", ".join(map(str, known["train"])) or "no label"
        raise InputError(f"{where}: all train texts have {named}, so there is nothing to learn")
    if not isinstance(parts["train"][0].target, float):
        for label in sorted(known["test"] - known["train"], key=str):
            tally.add("class of test texts without a train text", str(label))


def _labels(target: Target) -> tuple[str | float, ...]:
    return target if isinstance(target, tuple) else (target,)

"""Texts of one segment or two, each with a class, several classes or a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput, Target
from sciprism.datasets.layouts.item_tables import clean_text, parse_number
from sciprism.datasets.layouts.language.parts import (
    NO_TEXT,
    PartFiles,
    Parts,
    concatenate_parts,
    require_rows,
    split_off_dev,
)
from sciprism.datasets.layouts.language.records import read_records
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

# Field names of BLURB's package, LinkBERT's copy, PubMedQA, BioASQ, open copies; the first one counts.
FIRST_FIELDS = ("sentence1", "question", "QUESTION", "sentence", "text")
SECOND_FIELDS = ("sentence2", "context", "contexts", "CONTEXTS")
TARGET_FIELDS = ("label", "score", "answer", "final_decision")
TEXT_COLUMNS = ("id", "sentence", "label")
PAIR_COLUMNS = ("id", "sentence1", "sentence2", "label")


class LabelledText(NamedTuple):
    """The segments of a text and its target. group: texts of one group are all in train or all in dev."""

    id: str
    segments: tuple[str, ...]
    target: Target
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTexts:
    """Read one text of each record, or two for pairs, with a class or a number.

    Tables (.tsv) need `columns`; JSON lines, and objects keyed by id, have the field names of the public
    copies. The paragraphs of a context are joined by spaces. negative: the class that replaces "0" and labels
    that contain "false" (no relation). dev_share: of train, where there is no dev, sampled by a hash of the
    ids.
    """

    files: PartFiles
    columns: tuple[str, ...] = TEXT_COLUMNS
    pairs: bool = False
    target: Literal["class", "number"] = "class"
    negative: str = ""
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return the texts that have a label; empty texts are retained and counted."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, part: self._texts(data_root, path, part, dropped))
        split_off_dev(parts, self.dev_share)
        return build_pair_input(parts, dropped, self.files.where)

    def _texts(self, data_root: DataRoot, path: Path, part: Part, dropped: DropReport) -> Iterator[LabelledText]:
        for record in read_records(data_root, path, self.columns):
            found = [join_paragraphs(record.need(*FIRST_FIELDS))]
            if self.pairs:
                found.append(join_paragraphs(record.need(*SECOND_FIELDS)))
            if not all(found):
                dropped.add(NO_TEXT, f"{part}/{record.id}")
            value = record.need(*TARGET_FIELDS)
            if value in (None, ""):
                dropped.add("no label, dropped", f"{part}/{record.id}")
                continue
            target: Target = parse_number(value, record.where) if self.target == "number" else as_id(value).strip()
            if self.negative and isinstance(target, str) and (target == "0" or "false" in target.casefold()):
                target = self.negative
            yield LabelledText(record.id, tuple(found), target, record.id)


def join_paragraphs(value: Any) -> str:
    """Return a text, or the non-empty paragraphs of a list joined by a space."""
    return " ".join(filter(None, map(clean_text, value if isinstance(value, list) else [value])))


def build_pair_input(parts: Parts[LabelledText], dropped: DropReport, where: str) -> PairInput:
    """Return the protocol's input. Raises InputError where train or test cannot be used."""
    require_rows(parts, where)
    _check_targets(parts, dropped, where)
    trained = {each.segments for each in parts["train"]}
    for each in parts["test"]:
        if each.segments in trained:
            dropped.add("test text that is also in train", f"test/{each.id}")
    ids, whole, rows = concatenate_parts(parts, dropped)
    return PairInput(
        ids=ids,
        texts=[each.segments for each in whole],
        targets=[each.target for each in whole],  # type: ignore[arg-type]  # all of one type
        **rows,
        dropped=dropped,
    )


def _check_targets(parts: Parts[LabelledText], dropped: DropReport, where: str) -> None:
    """Raise InputError unless train has two classes or numbers, or a label; count classes that it lacks."""
    known = {
        part: {
            label
            for each in parts[part]
            for label in (each.target if isinstance(each.target, tuple) else (each.target,))
        }
        for part in PARTS
    }
    needed = 1 if isinstance(parts["train"][0].target, tuple) else 2
    if len(known["train"]) < needed:
        raise InputError(
            f"{where}: all train texts have {', '.join(map(str, known['train'])) or 'no label'}; two classes are needed"
        )
    if not isinstance(parts["train"][0].target, float):
        for label in sorted(known["test"] - known["train"], key=str):
            dropped.add("class of test texts without a train text", str(label))

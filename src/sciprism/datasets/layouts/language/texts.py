"""Texts of one segment or two with their targets; pairs of drugs (DDI) and Hallmarks of Cancer, made of such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput, Target
from sciprism.datasets.layouts.item_tables import clean_text, parse_number
from sciprism.datasets.layouts.language.parts import (
    NO_TEXT,
    LanguageRecord,
    PartFiles,
    Parts,
    concatenate_parts,
    is_table,
    read_records,
    require_rows,
    split_off_dev,
)
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

# Field names of BLURB's package, LinkBERT's copy, PubMedQA, BioASQ, open copies; the first one counts.
FIRST_FIELDS = ("sentence1", "question", "QUESTION", "sentence", "text")
SECOND_FIELDS = ("sentence2", "context", "contexts", "CONTEXTS")
TARGET_FIELDS = ("label", "score", "answer", "final_decision")
TEXT_COLUMNS = ("id", "sentence", "label")


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
            segments = [join_paragraphs(record.need(*FIRST_FIELDS))]
            if self.pairs:
                segments.append(join_paragraphs(record.need(*SECOND_FIELDS)))
            if not all(segments):
                dropped.add(NO_TEXT, f"{part}/{record.id}")
            value = record.need(*TARGET_FIELDS)
            if value in (None, ""):
                dropped.add("no label, dropped", f"{part}/{record.id}")
                continue
            target: Target = parse_number(value, record.where) if self.target == "number" else as_id(value).strip()
            if self.negative and isinstance(target, str) and (target == "0" or "false" in target.casefold()):
                target = self.negative
            yield LabelledText(record.id, tuple(segments), target, record.id)


def join_paragraphs(value: Any) -> str:
    """Return a text, or the non-empty paragraphs of a list joined by a space."""
    return " ".join(filter(None, map(clean_text, value if isinstance(value, list) else [value])))


def build_pair_input(parts: Parts[LabelledText], dropped: DropReport, where: str) -> PairInput:
    """Return the protocol's input. Raises InputError where train or test cannot be used."""
    require_rows(parts, where)
    _check_targets(parts, dropped, where)
    trained = {text.segments for text in parts["train"]}
    for text in parts["test"]:
        if text.segments in trained:
            dropped.add("test text that is also in train", f"test/{text.id}")
    ids, whole, rows = concatenate_parts(parts, dropped)
    return PairInput(
        ids=ids,
        texts=[text.segments for text in whole],
        targets=[text.target for text in whole],  # type: ignore[arg-type]  # all of one type
        **rows,
        dropped=dropped,
    )


def _check_targets(parts: Parts[LabelledText], dropped: DropReport, where: str) -> None:
    """Raise InputError unless train has two classes or numbers, or a label; count classes that it lacks."""
    labels_of: dict[Part, set[str | float]] = {part: set() for part in PARTS}
    for part, texts in parts.items():
        for text in texts:
            labels_of[part].update(text.target if isinstance(text.target, tuple) else (text.target,))
    needed = 1 if isinstance(parts["train"][0].target, tuple) else 2
    if len(labels_of["train"]) < needed:
        raise InputError(
            f"{where}: all train texts have {', '.join(map(str, labels_of['train'])) or 'no label'}; "
            "two classes are needed"
        )
    if not isinstance(parts["train"][0].target, float):
        for label in sorted(labels_of["test"] - labels_of["train"], key=str):
            dropped.add("class of test texts without a train text", str(label))


DRUG_MASK, DRUGS_MASK = "@DRUG$", "@DRUG-DRUG$"
Span = tuple[int, int]
_OFFSET = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrugPairs:
    """Read documents of sentences with `text`, `entities` and `pairs`; each pair is a text of its own.

    The drugs of a pair become `@DRUG$`, overlapping drugs one `@DRUG-DRUG$`; other drugs do not change. An
    offset such as "54-68" counts from 0 and includes its end; "1-5;9-12" is one drug in two pieces.
    dev_share: of the train documents, where there is no dev, sampled by a hash of their ids.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return one text for each pair, with the kind of interaction or "false"."""
        dropped = DropReport()

        def pairs(path: Path, _: Part) -> Iterator[LabelledText]:
            for document in read_records(data_root, path):
                yield from _read_pairs(document, dropped)

        parts = self.files.read(data_root, pairs)
        split_off_dev(parts, self.dev_share, key=lambda text: text.group)
        return build_pair_input(parts, dropped, self.files.where)


def mask_drugs(text: str, one: Span, other: Span) -> str:
    """Replace both spans (start, end) by `@DRUG$`, or overlapping ones by one `@DRUG-DRUG$`."""
    (start, end), (second, last) = sorted((one, other))
    if second < end:
        return f"{text[:start]}{DRUGS_MASK}{text[max(end, last) :]}"
    return f"{text[:start]}{DRUG_MASK}{text[end:second]}{DRUG_MASK}{text[last:]}"


def _read_pairs(document: LanguageRecord, dropped: DropReport) -> Iterator[LabelledText]:
    for number, sentence in enumerate(document.need("sentences")):
        name = f"{document.id}.s{number}"
        try:
            spans = {drug["id"]: _parse_offset(drug["offset"], name, dropped) for drug in sentence["entities"]}
            text, pairs = sentence["text"], sentence["pairs"]
            labelled_pairs = [(pair["e1"], pair["e2"], str(pair["label"])) for pair in pairs]
        except (KeyError, TypeError) as error:
            raise InputError(f"{document.where}: sentence {number} lacks {error}") from None
        for at, (one, other, label) in enumerate(labelled_pairs):
            pair_spans = [spans[drug] for drug in (one, other) if drug in spans]
            if len(pair_spans) < 2 or not all(0 <= start < end <= len(text) for start, end in pair_spans):
                dropped.add("pair with an unknown drug, dropped", f"{name}.p{at}")
                continue
            if max(pair_spans)[0] < min(pair_spans)[1]:
                dropped.add("drugs that overlap", f"{name}.p{at}")
            yield LabelledText(f"{name}.p{at}", (mask_drugs(text, *pair_spans).strip(),), label, document.id)


def _parse_offset(offset: str, name: str, dropped: DropReport) -> Span:
    """Return the start of an offset's first piece and the end of its last."""
    pieces = [_OFFSET.fullmatch(piece.strip()) for piece in str(offset).split(";")]
    if len(pieces) > 1:
        dropped.add("drug in several pieces, read from the first to the last", name)
    numbers = [(int(piece[1]), int(piece[2]) + 1) for piece in pieces if piece]
    if len(numbers) < len(pieces):
        raise InputError(f"{name}: the offset {offset!r} is not like 54-68 or 1-5;9-12")
    return min(start for start, _ in numbers), max(end for _, end in numbers)


HALLMARKS = (
    *("activating invasion and metastasis", "avoiding immune destruction", "cellular energetics"),
    *("enabling replicative immortality", "evading growth suppressors", "genomic instability and mutation"),
    *("inducing angiogenesis", "resisting cell death", "sustaining proliferative signaling"),
    "tumor promoting inflammation",
)
"""In the order of BLURB's label columns."""
_CELL = re.compile(r"(\d+)_([01])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HallmarkAbstracts:
    """Read abstracts, each with any number of hallmarks.

    Tables (.tsv) have sentences: `0_0,1_1,...` (class_value), sentence, `abstract_number`. An abstract is the
    consecutive sentences with its id; its hallmarks are those of any sentence. JSON lines have abstracts:
    `label` as ten zeros and ones, or `labels` as names.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return one text for each abstract, with the names of its hallmarks in order."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, _: _read_abstracts(data_root, path, dropped))
        split_off_dev(parts, self.dev_share)
        return build_pair_input(parts, dropped, self.files.where)


def _read_abstracts(data_root: DataRoot, path: Path, dropped: DropReport) -> Iterator[LabelledText]:
    """Yield the abstracts of a file; those without text or hallmark are counted."""
    records = read_records(data_root, path, ("label", "sentence", "id"))
    for text in _join_sentences(records) if is_table(path) else map(_parse_abstract, records):
        if not text.segments[0]:
            dropped.add(NO_TEXT, text.id)
        if not text.target:
            dropped.add("no hallmark", text.id)
        yield text


def _join_sentences(rows: Iterator[LanguageRecord]) -> Iterator[LabelledText]:
    for name, group in groupby(rows, key=lambda row: row.id.rpartition("_")[0] or row.id):
        sentences = list(group)
        columns = set()
        for row in sentences:
            cells = [_CELL.fullmatch(cell.strip()) for cell in row.values["label"].split(",")]
            if not all(cell and int(cell[1]) < len(HALLMARKS) for cell in cells):
                raise InputError(f"{row.where}: the labels are {row.values['label']!r}, not 0_0,1_1,... up to 9")
            columns |= {int(cell[1]) for cell in cells if cell and cell[2] == "1"}
        text = join_paragraphs([row.values["sentence"] for row in sentences])
        yield LabelledText(name, (text,), _list_names(columns), name)


def _parse_abstract(record: LanguageRecord) -> LabelledText:
    labels: Any = record.need("label", "labels")
    if not isinstance(labels, list):
        raise InputError(f"{record.where}: the labels are {labels!r:.40}, not a list")
    if len(labels) == len(HALLMARKS) and set(labels) <= {0, 1}:
        target = _list_names({column for column, value in enumerate(labels) if value})
    else:
        named = {str(name).strip().lower() for name in labels}
        if unknown := sorted(named.difference(HALLMARKS)):
            raise InputError(f"{record.where}: {unknown[0]!r} is not one of the ten hallmarks")
        target = tuple(name for name in HALLMARKS if name in named)
    return LabelledText(record.id, (join_paragraphs(record.need(*FIRST_FIELDS)),), target, record.id)


def _list_names(columns: set[int]) -> tuple[str, ...]:
    return tuple(HALLMARKS[column] for column in sorted(columns))

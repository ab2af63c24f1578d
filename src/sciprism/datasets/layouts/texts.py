"""Fine-tuning data: the files of train, dev and test; texts with their targets; extractive questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot, as_id, find_file, list_names, require_data_file
from sciprism.datasets.inputs import Answer, PairInput, SpanInput, Target, concatenate
from sciprism.datasets.layouts.item_tables import NO_TEXT, clean_text, number_duplicates, parse_number
from sciprism.datasets.open_data import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

ROOTS = ("", "blurb", "linkbert", "LinkBERT")
"""Folders of LinkBERT's copy of BLURB, relative to the data root."""
SUBFOLDERS = ("", "data", "data/tokcls", "data/seqcls", "tokcls", "seqcls")
ENDINGS = ("", ".tsv", ".txt", ".json", ".jsonl")
PART_NAMES = {"train": "train", **dict.fromkeys(("dev", "val", "valid", "validation"), "dev"), "test": "test"}
"""Name in a file -> our name of the part."""


RowT = TypeVar("RowT", bound=Any)  # it has an id: that in the file, or the line number
Parts = dict[Part, list[RowT]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFiles:
    """The files of a data set: one of train, one of test, optionally one of dev.

    folders: the first that contains any of the files is used; each is searched for under the data root and in
    the folders of an unpacked copy of BLURB (`ROOTS`, `SUBFOLDERS`). train, dev, test: names of the part's
    file, with or without one of `ENDINGS` and `.gz`; no name: no such part. repo: a hub data set with the
    files, instead of folders; the first name of each part is its file there. obtain: how to get the data.
    """

    folders: tuple[str, ...] = ()
    train: tuple[str, ...] = ("train",)
    dev: tuple[str, ...] = ("dev", "devel", "val", "validation")
    test: tuple[str, ...] = ("test",)
    repo: str = ""
    obtain: str = ""

    def __str__(self) -> str:
        """Return the folders, or the hub data set, for messages."""
        return ", ".join(self.folders) or self.repo

    def read(self, data_root: DataRoot, rows: Callable[[Path, Part], Iterable[RowT]]) -> Parts[RowT]:
        """Return the rows of each part, as `rows` reads them from its file; empty where there is no file."""
        paths = self.find(data_root)
        return {part: list(rows(paths[part], part)) if part in paths else [] for part in PARTS}

    def find(self, data_root: DataRoot) -> dict[Part, Path]:
        """Return the file of each part. Raises InputError that says what is missing and how to get it."""
        named: dict[Part, tuple[str, ...]] = {"train": self.train, "dev": self.dev, "test": self.test}
        if self.repo:
            return {
                part: data_root.file(self.repo, names[0], names=names[1:]) for part, names in named.items() if names
            }
        top = data_root.folder or Path()
        for folder, root, inside in product(self.folders, ROOTS, SUBFOLDERS):
            path = top / root / inside / folder
            tried = {
                part: find_file(path, *(f"{name}{end}" for name, end in product(names, ENDINGS)))
                for part, names in named.items()
            }
            if paths := {part: file for part, file in tried.items() if file}:
                return _require_parts(paths, named, path)
        return _require_parts({}, named, data_root.local(self.folders[0], self.obtain))


def _require_parts(paths: dict[Part, Path], named: Mapping[Part, Sequence[str]], folder: Path) -> dict[Part, Path]:
    for part in ("train", "test"):
        if part not in paths and named[part]:
            names = f"{named[part][0]}.tsv or .json"
            raise InputError(f"{folder} has no {part} file (such as {names}); it contains {list_names(folder)}")
    return paths


def split_off_dev(parts: Parts[RowT], share: float, key: Callable[[RowT], str] = lambda row: row.id) -> None:
    """Move this share of train to dev if dev is empty: the rows whose keys have the lowest hashes.

    Rows with one key stay together, in any order of the rows.
    """
    if share and not parts["dev"]:
        whole = parts["train"]
        parts["dev"] = [row for row in whole if random_fraction("dev", key(row)) < share]
        parts["train"] = [row for row in whole if random_fraction("dev", key(row)) >= share]


def concatenate_parts(parts: Parts[RowT], dropped: DropReport) -> tuple[list[str], list[RowT], dict[Part, Rows]]:
    """Return the ids and the rows of train, dev and test in order, and the row numbers of each part.

    An id is `part/id`, since files number their rows from the start; duplicates end with "#2" ...
    """
    names = [f"{part}/{row.id}" for part in PARTS for row in parts[part]]
    return number_duplicates(names, dropped, "duplicate id in its part"), *concatenate(parts)


def require_rows(parts: Parts[RowT], where: str) -> None:
    """Raise InputError where train or test is empty."""
    for part in ("train", "test"):
        if not parts[part]:
            raise InputError(f"{where}: no {part} rows; the file is empty or has no usable row")


class LanguageRecord(NamedTuple):
    """A record: its id or line number, its fields, and its file and line for messages."""

    id: str
    values: dict[str, Any]
    where: str

    def need(self, *names: str) -> Any:
        """Return the first of these fields that exists, empty or not. Raises InputError if none does."""
        for name in names:
            if name in self.values:
                return self.values[name]
        present = ", ".join(map(str, self.values)) or "nothing"
        raise InputError(f"{self.where}: no field {' or '.join(names)}; the record has {present}")


def read_records(data_root: DataRoot, path: Path) -> Iterator[LanguageRecord]:
    """Yield the records of a file: JSON lines, the items of a JSON list, or the rows of a table by its header."""
    for number, (where, row) in enumerate(data_root.located_records(path), 1):
        yield LanguageRecord(as_id(row.get("id")) or str(number), row, where)


# Field names of LinkBERT's copy of BLURB, and of open copies; the first one counts.
FIRST_FIELDS = ("sentence1", "question", "sentence", "text")
SECOND_FIELDS = ("sentence2", "context", "contexts")
TARGET_FIELDS = ("label", "score", "answer")


class LabelledText(NamedTuple):
    """The segments of a text and its target. group: texts of one group are all in train or all in dev."""

    id: str
    segments: tuple[str, ...]
    target: Target
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTexts:
    """Read one text of each record, or two for pairs, with a class or a number.

    Records have the field names of the public copies. The paragraphs of a context are joined by spaces.
    negative: the class that replaces "0" and labels that contain "false" (no relation). dev_share: of train,
    where there is no dev, sampled by a hash of the ids.
    """

    FORMER: ClassVar = {"columns": ["id", "sentence", "label"]}
    files: PartFiles
    pairs: bool = False
    target: Literal["class", "number"] = "class"
    negative: str = ""
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return the texts that have a label; empty texts are retained and counted."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, part: self._texts(data_root, path, part, dropped))
        split_off_dev(parts, self.dev_share)
        return build_pair_input(parts, dropped, str(self.files))

    def _texts(self, data_root: DataRoot, path: Path, part: Part, dropped: DropReport) -> Iterator[LabelledText]:
        for record in read_records(data_root, path):
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
        return build_pair_input(parts, dropped, str(self.files))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HallmarkAbstracts:
    """Read abstracts, each with any number of hallmarks: `label` as ten zeros and ones, or `labels` as names."""

    files: PartFiles
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return one text for each abstract, with the names of its hallmarks in order."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, _: _read_abstracts(data_root, path, dropped))
        split_off_dev(parts, self.dev_share)
        return build_pair_input(parts, dropped, str(self.files))


def _read_abstracts(data_root: DataRoot, path: Path, dropped: DropReport) -> Iterator[LabelledText]:
    """Yield the abstracts of a file; those without text or hallmark are counted."""
    for text in map(_parse_abstract, read_records(data_root, path)):
        if not text.segments[0]:
            dropped.add(NO_TEXT, text.id)
        if not text.target:
            dropped.add("no hallmark", text.id)
        yield text


def _parse_abstract(record: LanguageRecord) -> LabelledText:
    labels: Any = record.need("label", "labels")
    if not isinstance(labels, list):
        raise InputError(f"{record.where}: the labels are {labels!r:.40}, not a list")
    if len(labels) == len(HALLMARKS) and set(labels) <= {0, 1}:
        target = tuple(name for name, value in zip(HALLMARKS, labels, strict=True) if value)
    else:
        named = {str(name).strip().lower() for name in labels}
        if unknown := sorted(named.difference(HALLMARKS)):
            raise InputError(f"{record.where}: {unknown[0]!r} is not one of the ten hallmarks")
        target = tuple(name for name in HALLMARKS if name in named)
    return LabelledText(record.id, (join_paragraphs(record.need(*FIRST_FIELDS)),), target, record.id)


NO_CONTEXT = "question without a context, dropped"


class ContextQuestion(NamedTuple):
    """A question with its context and answers. group: the title or id of its article."""

    id: str
    text: str
    context: str
    answers: tuple[Answer, ...]
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SquadFiles:
    """Read SQuAD-2 JSON: articles of paragraphs of questions. No answer: the question cannot be answered.

    topics: titles of SQuAD-2 articles whose questions are added to train. dev_share: of train,
    where there is no dev, sampled by a hash of the contexts, without the questions of topics.
    """

    files: PartFiles
    topics: tuple[str, ...] = ()
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> SpanInput:
        """Return the questions; answers with a wrong offset are moved, those not in the context dropped."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, _: _read_articles(data_root, path, dropped))
        split_off_dev(parts, self.dev_share, key=lambda question: question.context)
        if self.topics:
            parts["train"] += _read_topics(data_root, self.topics, dropped)
        return build_span_input(parts, dropped, str(self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuestions:
    """Read documents (`id`, `context`) and questions about them (`document_id`).

    A hash of the document's id assigns its questions to test (test_share), dev (dev_share) or train. For
    COVID-QA, whose only file has no split.
    """

    FORMER: ClassVar = {"documents": "documents.jsonl", "questions": "questions.jsonl", "whole": "COVID-QA.json"}
    folder: str
    test_share: float = 0.25
    dev_share: float = 0.1
    obtain: str = ""

    def read(self, data_root: DataRoot) -> SpanInput:
        """Return the questions of all documents."""
        dropped = DropReport()
        parts: Parts[ContextQuestion] = {part: [] for part in PARTS}
        for question in self._read_questions(data_root, data_root.local(self.folder, self.obtain), dropped):
            fraction = random_fraction("test", question.group)
            is_dev = fraction < self.test_share + self.dev_share
            parts["test" if fraction < self.test_share else "dev" if is_dev else "train"].append(question)
        return build_span_input(parts, dropped, self.folder)

    def _read_questions(self, data_root: DataRoot, folder: Path, dropped: DropReport) -> Iterator[ContextQuestion]:
        paths = (require_data_file(folder, name) for name in ("documents.jsonl", "questions.jsonl"))
        contexts, questions = (read_records(data_root, path) for path in paths)
        context_of = {record.id: str(record.need("context") or "") for record in contexts}
        for record in questions:
            name = as_id(record.need("document_id"))
            if not context_of.get(name):
                dropped.add(NO_CONTEXT, record.id)
                continue
            if question := parse_question(record.values | {"id": record.id}, context_of[name], name, dropped):
                yield question


def parse_question(row: dict[str, Any], context: str, group: str, dropped: DropReport) -> ContextQuestion | None:
    """Return the question of a record with `id`, `question`, `answers` and optionally `is_impossible`.

    None where it has answers but none of them is in the context: that does not make it impossible.
    """
    name = as_id(row.get("id"))
    given = list(_parse_answers(row.get("answers")))
    if row.get("is_impossible") and given:
        dropped.add("answers of a question marked as impossible, dropped", name)
        given = []
    located, lost = [], 0
    for text, start in given:
        if not text.strip():
            dropped.add("empty answer, ignored", name)
            continue
        answer = locate_answer(context, text, start)
        if answer is None:
            dropped.add("answer that is not in its context, dropped", name)
            lost += 1
        else:
            if answer.start != start:
                dropped.add("answer with a wrong offset, moved to its nearest occurrence", name)
            located.append(answer)
    if lost and not located:
        dropped.add("question without any answer in its context, dropped", name)
        return None
    return ContextQuestion(name, clean_text(row.get("question")), context, tuple(located), group)


def locate_answer(context: str, text: str, start: int) -> Answer | None:
    """Return the occurrence of a text in its context at `start`, else the nearest one, the earlier of two.

    A text that does not occur is searched for without outer white space. None if it does not occur at all.
    """
    if context[start : start + len(text)] == text and start >= 0:
        return Answer(text, start)
    for tried in dict.fromkeys((text, text.strip())):
        before = context.rfind(tried, 0, max(start, 0) + len(tried))
        after = context.find(tried, max(start, 0))
        if offsets := [offset for offset in (before, after) if offset >= 0]:
            return Answer(tried, min(offsets, key=lambda offset: (abs(offset - start), offset)))
    return None


def build_span_input(parts: Parts[ContextQuestion], dropped: DropReport, where: str) -> SpanInput:
    """Return the protocol's input. Raises InputError where train or test cannot be used."""
    require_rows(parts, where)
    if not any(question.answers for question in parts["train"]):
        raise InputError(f"{where}: no train question has an answer")
    for part in PARTS:
        for question in parts[part]:
            if not question.text:
                dropped.add("question without words", f"{part}/{question.id}")
    ids, whole, rows = concatenate_parts(parts, dropped)
    return SpanInput(
        ids=ids,
        questions=[question.text for question in whole],
        contexts=[question.context for question in whole],
        answers=[question.answers for question in whole],
        **rows,
        dropped=dropped,
    )


def _read_articles(data_root: DataRoot, path: Path, dropped: DropReport) -> Iterator[ContextQuestion]:
    """Yield the questions of a file in SQuAD's layout."""
    for number, article in enumerate(_require_objects(dict(data_root.members(path)), "data", path)):
        title = clean_text(article.get("title"))
        for paragraph in _require_objects(article, "paragraphs", path):
            context = paragraph.get("context") or ""
            group = title or str(number)
            for row in _require_objects(paragraph, "qas", path):
                if not context:
                    dropped.add(NO_CONTEXT, as_id(row.get("id")))
                elif question := parse_question(row, context, group, dropped):
                    yield question


def _require_objects(row: dict[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{path}: no list of objects named {name}; expected SQuAD's JSON")
    return value


def _read_topics(data_root: DataRoot, topics: Iterable[str], dropped: DropReport) -> list[ContextQuestion]:
    """Return the questions of some articles of SQuAD-2, from the hub's data set or a copy of it."""
    wanted, shared, questions = {_normalize_title(topic) for topic in topics}, dict[str, str](), list[ContextQuestion]()
    for split in ("train", "validation"):
        for row in data_root.rows("rajpurkar/squad_v2", "squad_v2", split=split):
            if _normalize_title(title := clean_text(row.get("title"))) in wanted:
                context = shared.setdefault(row["context"], row["context"])
                if question := parse_question(row, context, title, dropped):
                    questions.append(question)
                    dropped.add("question of a SQuAD topic", question.id)
    for topic in sorted(wanted - {_normalize_title(question.group) for question in questions}):
        dropped.add("topic without an article in SQuAD", topic)
    return questions


def _parse_answers(answers: Any) -> Iterator[tuple[str, int]]:
    """Yield (text, start) of a list of answers, or of the hub's object of two lists."""
    if isinstance(answers, dict):
        texts, starts = answers.get("text") or [], answers.get("answer_start") or []
        answers = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    for answer in answers or ():
        start = answer.get("answer_start")
        yield str(answer.get("text") or ""), start if isinstance(start, int) else 0


def _normalize_title(name: str) -> str:
    return name.replace("_", " ").strip().casefold()

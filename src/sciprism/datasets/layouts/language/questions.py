"""Extractive questions: SQuAD's files, or documents with a file of questions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.inputs import Answer, SpanInput
from sciprism.datasets.layouts.item_tables import clean_text
from sciprism.datasets.layouts.language.parts import (
    PartFiles,
    Parts,
    concatenate_parts,
    read_records,
    require_rows,
    split_off_dev,
)
from sciprism.datasets.open_data import PARTS
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

SQUAD = ("train-v2.0.json", "dev-v2.0.json")
SQUAD_FOLDERS = ("", "squad", "squad2", "squad_v2", "rajpurkar/squad_v2")
SQUAD_REPO = "rajpurkar/squad_v2"
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

    topics: titles of SQuAD-2 articles whose questions are added to train, from SQuAD's files (`SQUAD`, in any
    of `SQUAD_FOLDERS`) or the hub's copy. dev_share: of train, where there is no dev, sampled by a hash of
    the contexts, without the questions of topics.
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
        return build_span_input(parts, dropped, self.files.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuestions:
    """Read documents (`id`, `context`) and questions about them (`document_id`), or one file like SQuAD's.

    A hash of the document's id assigns its questions to test (test_share), dev (dev_share) or train. For
    COVID-QA, whose only file has no split.
    """

    folder: str
    test_share: float = 0.25
    dev_share: float = 0.1
    documents: str = "documents.jsonl"
    questions: str = "questions.jsonl"
    whole: str = "COVID-QA.json"
    obtain: str = ""

    def read(self, data_root: DataRoot) -> SpanInput:
        """Return the questions of all documents."""
        dropped = DropReport()
        folder = data_root.local(self.folder, self.obtain)
        whole = find_file(folder, self.whole)
        questions = (
            _read_articles(data_root, whole, dropped) if whole else self._read_questions(data_root, folder, dropped)
        )
        parts: Parts[ContextQuestion] = {part: [] for part in PARTS}
        for question in questions:
            fraction = random_fraction("test", question.group)
            is_dev = fraction < self.test_share + self.dev_share
            parts["test" if fraction < self.test_share else "dev" if is_dev else "train"].append(question)
        return build_span_input(parts, dropped, self.folder)

    def _read_questions(self, data_root: DataRoot, folder: Path, dropped: DropReport) -> Iterator[ContextQuestion]:
        paths = [find_file(folder, name) for name in (self.documents, self.questions)]
        if not all(paths):
            present = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise InputError(
                f"{folder} needs {self.whole}, or {self.documents} and {self.questions}; it contains {present}"
            )
        contexts, questions = (read_records(data_root, path) for path in paths if path)
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


def _read_articles(
    data_root: DataRoot, path: Path, dropped: DropReport, only: Container[str] | None = None
) -> Iterator[ContextQuestion]:
    """Yield the questions of a file in SQuAD's layout. only: the titles of the articles to read."""
    for number, article in enumerate(_require_objects(dict(data_root.members(path)), "data", path)):
        title = clean_text(article.get("title"))
        if only is not None and _normalize_title(title) not in only:
            continue
        for paragraph in _require_objects(article, "paragraphs", path):
            context = paragraph.get("context") or ""
            group = title or as_id(paragraph.get("document_id")) or str(number)
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
    """Return the questions of some articles of SQuAD-2. Raises InputError that says how to get them."""
    wanted = {_normalize_title(topic) for topic in topics}
    top = data_root.folder or Path()
    paths = [next(filter(None, (find_file(top / at, name) for at in SQUAD_FOLDERS)), None) for name in SQUAD]
    questions = [question for path in paths if path for question in _read_articles(data_root, path, dropped, wanted)]
    if not any(paths):
        try:
            questions = list(_read_hub_topics(data_root, wanted, dropped))
        except InputError as error:
            raise type(error)(f"{error}. Or copy SQuAD's {' and '.join(SQUAD)} into squad/") from error
    if not questions:
        raise InputError(f"the local SQuAD files lack {', '.join(sorted(wanted))}; download {SQUAD_REPO}")
    for topic in sorted(wanted - {_normalize_title(question.group) for question in questions}):
        dropped.add("topic without an article in the local SQuAD files", topic)
    for question in questions:
        dropped.add("question of a SQuAD topic", question.id)
    return questions


def _read_hub_topics(data_root: DataRoot, wanted: set[str], dropped: DropReport) -> Iterator[ContextQuestion]:
    shared: dict[str, str] = {}
    for split in ("train", "validation"):
        for row in data_root.rows(SQUAD_REPO, "squad_v2", split=split, dropped=dropped):
            if _normalize_title(clean_text(row.get("title"))) in wanted:
                context = shared.setdefault(row["context"], row["context"])
                if question := parse_question(row, context, clean_text(row["title"]), dropped):
                    yield question


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

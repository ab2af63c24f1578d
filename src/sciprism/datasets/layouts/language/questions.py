"""Questions whose answers stand in a text: SQuAD's files, and documents with a file of questions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Answer, Questions
from sciprism.datasets.layouts.item_tables import text_of
from sciprism.datasets.layouts.language.parts import (
    PartFiles,
    Parts,
    cut_dev,
    need_rows,
    together,
    unique_ids,
)
from sciprism.datasets.layouts.language.records import records
from sciprism.datasets.rows import as_id
from sciprism.datasets.sources import PARTS
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

SQUAD = ("train-v2.0.json", "dev-v2.0.json")
SQUAD_PLACES = ("", "squad", "squad2", "squad_v2", "rajpurkar/squad_v2")
SQUAD_REPO = "rajpurkar/squad_v2"
MOVED = "answer that does not stand where it is said to, taken where it is nearest"
LOST = "answer that does not stand in its context, left out"
UNANSWERED = "question none of whose answers stands in its context, left out"
EMPTY = "empty answer, as none"
DENIED = "answers of a question said to be impossible, left out"
NO_CONTEXT = "question without a context, left out"


class Question(NamedTuple):
    """A question with its context and answers. group: the title or id of the article it is about."""

    id: str
    text: str
    context: str
    answers: tuple[Answer, ...]
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SquadFiles:
    """Read SQuAD-2 JSON: articles of paragraphs of questions. No answer: the question cannot be answered.

    topics: titles of SQuAD-2 articles whose questions are trained on too, from SQuAD's own files (`SQUAD`, in
    any of `SQUAD_PLACES`) or the hub's copy. dev_share: of train, where there is no dev, drawn by a hash of
    the contexts; questions of a topic are not drawn.
    """

    files: PartFiles
    topics: tuple[str, ...] = ()
    dev_share: float = 0.0

    def read(self, home: DataRoot) -> Questions:
        """Return the questions; answers that stand elsewhere are moved, those that stand nowhere left out."""
        tally = DropReport()
        parts = self.files.read(home, lambda path, _: _articles(home, path, tally))
        cut_dev(parts, self.dev_share, key=lambda question: question.context)
        if self.topics:
            parts["train"] += _topics(home, self.topics, tally)
        return questions(parts, tally, self.files.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuestions:
    """Read documents (`id`, `context`) and questions about them (`document_id`), or one file like SQuAD's.

    Each document's questions are in one part, drawn by a hash of its id: test_share and dev_share of the
    documents, the rest is train. Made for COVID-QA, whose one file has no split.
    """

    folder: str
    test_share: float = 0.25
    dev_share: float = 0.1
    documents: str = "documents.jsonl"
    questions: str = "questions.jsonl"
    whole: str = "COVID-QA.json"
    obtain: str = ""

    def read(self, home: DataRoot) -> Questions:
        """Return the questions of all documents."""
        tally = DropReport()
        folder = home.local(self.folder, self.obtain)
        whole = _there(folder / self.whole)
        found = _articles(home, whole, tally) if whole else self._asked(home, folder, tally)
        parts: Parts[Question] = {part: [] for part in PARTS}
        for question in found:
            drawn = random_fraction("test", question.group)
            is_dev = drawn < self.test_share + self.dev_share
            parts["test" if drawn < self.test_share else "dev" if is_dev else "train"].append(question)
        return questions(parts, tally, self.folder)

    def _asked(self, home: DataRoot, folder: Path, tally: DropReport) -> Iterator[Question]:
        paths = [_there(folder / name) for name in (self.documents, self.questions)]
        if not all(paths):
            there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise InputError(
                f"{folder} needs {self.whole}, or {self.documents} and {self.questions}; it holds {there}"
            )
        contexts, asked = ([] if path is None else records(home, path) for path in paths)
        known = {each.id: str(each.need("context") or "") for each in contexts}
        for each in asked:
            name = as_id(each.need("document_id"))
            if not known.get(name):
                tally.add(NO_CONTEXT, each.id)
                continue
            question = question_of(each.values | {"id": each.id}, known[name], name, tally)
            if question:
                yield question


def question_of(row: dict[str, Any], context: str, group: str, tally: DropReport) -> Question | None:
    """Return the question of a record with `id`, `question`, `answers` and perhaps `is_impossible`.

    Nothing where it had answers and none of them stands in the context: that does not make it impossible.
    """
    name = as_id(row.get("id"))
    given = list(_given(row.get("answers")))
    if row.get("is_impossible") and given:
        tally.add(DENIED, name)
        given = []
    found, lost = [], 0
    for text, start in given:
        if not text.strip():
            tally.add(EMPTY, name)
            continue
        answer = located(context, text, start)
        if answer is None:
            tally.add(LOST, name)
            lost += 1
        else:
            if answer.start != start:
                tally.add(MOVED, name)
            found.append(answer)
    if lost and not found:
        tally.add(UNANSWERED, name)
        return None
    return Question(name, text_of(row.get("question")), context, tuple(found), group)


def located(context: str, text: str, start: int) -> Answer | None:
    """Return where a text stands in its context: at start, else nearest to it, the earlier of two.

    A text that stands nowhere is tried without outer white space.
    """
    if context[start : start + len(text)] == text and start >= 0:
        return Answer(text, start)
    for tried in dict.fromkeys((text, text.strip())):
        before = context.rfind(tried, 0, max(start, 0) + len(tried))
        after = context.find(tried, max(start, 0))
        found = [spot for spot in (before, after) if spot >= 0]
        if found:
            return Answer(tried, min(found, key=lambda spot: (abs(spot - start), spot)))
    return None


def questions(parts: Parts[Question], tally: DropReport, where: str) -> Questions:
    """Return questions as a protocol's input. Raises InputError where nothing can be learnt or tested."""
    need_rows(parts, where)
    if not any(each.answers for each in parts["train"]):
        raise InputError(f"{where}: no train question has an answer, so there is nothing to learn")
    for part in PARTS:
        for each in parts[part]:
            if not each.text:
                tally.add("question without words", f"{part}/{each.id}")
    ids = unique_ids(parts, tally)
    whole, rows = together(parts)
    return Questions(
        ids=ids,
        questions=[each.text for each in whole],
        contexts=[each.context for each in whole],
        answers=[each.answers for each in whole],
        train=rows["train"],
        test=rows["test"],
        dev=rows["dev"],
        tally=tally,
    )


def _articles(
    home: DataRoot, path: Path, tally: DropReport, only: Container[str] | None = None
) -> Iterator[Question]:
    """Yield the questions of a file in SQuAD's layout; only: of articles with these titles."""
    for number, article in enumerate(_objects(dict(home.members(path)), "data", path)):
        title = text_of(article.get("title"))
        if only is not None and _title(title) not in only:
            continue
        for paragraph in _objects(article, "paragraphs", path):
            context = paragraph.get("context") or ""
            group = title or as_id(paragraph.get("document_id")) or str(number)
            for row in _objects(paragraph, "qas", path):
                if not context:
                    tally.add(NO_CONTEXT, as_id(row.get("id")))
                elif question := question_of(row, context, group, tally):
                    yield question


def _objects(row: dict[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{path}: no list of objects named {name}; expected SQuAD's JSON")
    return value


def _topics(home: DataRoot, topics: Iterable[str], tally: DropReport) -> list[Question]:
    """Return the questions of some articles of SQuAD-2. Raises InputError saying how to get them."""
    wanted = {_title(topic) for topic in topics}
    top = home.folder or Path()
    paths = [next(filter(None, (_there(top / at / name) for at in SQUAD_PLACES)), None) for name in SQUAD]
    found = [each for path in paths if path for each in _articles(home, path, tally, wanted)]
    if not any(paths):
        try:
            found = list(_hub_topics(home, wanted, tally))
        except InputError as error:
            raise InputError(f"{error}. Or put SQuAD's own {' and '.join(SQUAD)} into squad/") from error
    if not found:
        raise InputError(
            f"the SQuAD files that are there lack {', '.join(sorted(wanted))}; fetch {SQUAD_REPO}"
        )
    for topic in sorted(wanted - {_title(each.group) for each in found}):
        tally.add("topic without an article in the SQuAD files that are there", topic)
    for each in found:
        tally.add("question of a SQuAD topic", each.id)
    return found


def _hub_topics(home: DataRoot, wanted: set[str], tally: DropReport) -> Iterator[Question]:
    shared: dict[str, str] = {}
    for split in ("train", "validation"):
        for row in home.rows(SQUAD_REPO, "squad_v2", split=split, tally=tally):
            if _title(text_of(row.get("title"))) in wanted:
                context = shared.setdefault(row["context"], row["context"])
                question = question_of(row, context, text_of(row["title"]), tally)
                if question:
                    yield question


def _given(answers: Any) -> Iterator[tuple[str, int]]:
    """Yield (text, start) of a list of answers, or of the hub's object of two lists; perhaps none."""
    if isinstance(answers, dict):
        texts, starts = answers.get("text") or [], answers.get("answer_start") or []
        answers = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    for answer in answers or ():
        start = answer.get("answer_start")
        yield str(answer.get("text") or ""), start if isinstance(start, int) else 0


def _title(name: str) -> str:
    return name.replace("_", " ").strip().casefold()


def _there(path: Path) -> Path | None:
    return next((each for each in (path, path.with_name(f"{path.name}.gz")) if each.is_file()), None)

"""Read annotated questions and the paragraphs that answer them: JSON lines, a table or SQuAD's layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sciprism.datasets.layouts.item_tables import clean_text
from sciprism.datasets.layouts.tables import TableRow, read_rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

PARAGRAPH = ("paragraph", "context", "passage", "text")
QUESTIONS = ("questions", "question", "query", "queries")


@dataclass(frozen=True, slots=True)
class AnnotatedParagraph:
    """A paragraph and the questions that only it answers."""

    paragraph: str
    questions: tuple[str, ...]


def normalize_text(text: str) -> str:
    """Return a text in lower case, white space folded: equal texts compare equal."""
    return " ".join(text.casefold().split())


def read_annotated_paragraphs(path: Path, dropped: DropReport) -> list[AnnotatedParagraph]:
    """Return each paragraph once with its questions, in the order of the file.

    Rows have a paragraph and a question, or a list `questions`; or the file is SQuAD's, version 1 or 2, whose
    questions without an answer are dropped. A question with two paragraphs has no single answer and is
    dropped. Raises InputError if no pair is left.
    """
    paragraphs: dict[str, str] = {}
    questions_of: dict[str, dict[str, str]] = {}  # paragraph -> its distinct questions
    holders: dict[str, set[str]] = {}
    for where, paragraph, question in _pairs(path, dropped):
        if not paragraph or not question:
            dropped.add(f"row without a {'question' if paragraph else 'paragraph'}", where)
            continue
        key, question_key = normalize_text(paragraph), normalize_text(question)
        paragraphs.setdefault(key, paragraph)
        if question_key in questions_of.setdefault(key, {}):
            dropped.add("duplicate question of a paragraph", question)
        questions_of[key].setdefault(question_key, question)
        holders.setdefault(question_key, set()).add(key)
    found = []
    for key, questions in questions_of.items():
        unique = []
        for question_key, question in questions.items():
            if len(holders[question_key]) > 1:
                dropped.add("question with several paragraphs", question)
            else:
                unique.append(question)
        if unique:
            found.append(AnnotatedParagraph(paragraphs[key], tuple(unique)))
        else:
            dropped.add("paragraph without a unique question", paragraphs[key][:80])
    if not found:
        raise InputError(
            f"{path}: no question with its paragraph; rows have {PARAGRAPH[0]} and {QUESTIONS[1]} (or a list "
            f"{QUESTIONS[0]}), or the file is in SQuAD's layout"
        )
    return found


def _pairs(path: Path, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield (place, paragraph, question); a missing text is empty."""
    for row in read_rows(path, dropped):
        if row.has("paragraphs"):
            yield from _article(row, dropped)
            continue
        paragraph, questions = clean_text(row.get(*PARAGRAPH)), row.get(*QUESTIONS)
        for question in questions if isinstance(questions, list) else [questions]:
            yield row.where, paragraph, clean_text(question)


def _article(row: TableRow, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield the same for one article in SQuAD's layout."""
    try:
        for paragraph in row.need("paragraphs"):
            for entry in paragraph["qas"]:
                if not entry.get("is_impossible") and entry.get("answers", True):
                    yield row.where, clean_text(paragraph["context"]), clean_text(entry["question"])
                else:
                    dropped.add("question without an answer", str(entry.get("id", "")))
    except (KeyError, TypeError, AttributeError) as error:
        raise row.error(f"not SQuAD's layout: {type(error).__name__}: {error}") from error

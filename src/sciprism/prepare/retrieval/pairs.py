"""Annotated questions and the paragraphs that answer them, from JSON lines, a table or SQuAD's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import text_of
from sciprism.datasets.layouts.tables import TableRow, read_rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

PARAGRAPH = ("paragraph", "context", "passage", "text")
QUESTIONS = ("questions", "question", "query", "queries")


@dataclass(frozen=True, slots=True)
class Annotated:
    """A paragraph and the questions that it answers, none of which another paragraph answers too."""

    paragraph: str
    questions: tuple[str, ...]


def same(text: str) -> str:
    """Return what two equal texts have in common: case and white space do not part them."""
    return " ".join(text.casefold().split())


def read_annotated(path: Path, dropped: DropReport) -> list[Annotated]:
    """Return each paragraph once with its questions, in the order of the file.

    Rows have a paragraph and a question, or a list `questions`; or the file is SQuAD's, version 1 or 2, whose
    questions without an answer do not count. A question that stands with two paragraphs has not one right
    answer and is dropped. Raises InputError where no pair is left.
    """
    paragraphs: dict[str, str] = {}
    asked: dict[str, dict[str, str]] = {}  # the paragraph -> its questions, equal ones once
    holders: dict[str, set[str]] = {}
    for where, paragraph, question in _pairs(path, dropped):
        if not paragraph or not question:
            dropped.add(f"row without a {'question' if paragraph else 'paragraph'}", where)
            continue
        key, wanted = same(paragraph), same(question)
        paragraphs.setdefault(key, paragraph)
        if wanted in asked.setdefault(key, {}):
            dropped.add("question that its paragraph has already", question)
        asked[key].setdefault(wanted, question)
        holders.setdefault(wanted, set()).add(key)
    found = []
    for key, questions in asked.items():
        for wanted, question in questions.items():
            if len(holders[wanted]) > 1:
                dropped.add("question with several paragraphs", question)
        kept = tuple(question for wanted, question in questions.items() if len(holders[wanted]) == 1)
        if kept:
            found.append(Annotated(paragraphs[key], kept))
        else:
            dropped.add("paragraph without a question of its own", paragraphs[key][:80])
    if not found:
        raise InputError(
            f"{path}: no question with its paragraph; rows have {PARAGRAPH[0]} and {QUESTIONS[1]} (or a list "
            f"{QUESTIONS[0]}), or the file is in SQuAD's layout"
        )
    return found


def _pairs(path: Path, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield (place, paragraph, question); a text that is not there is empty."""
    for row in read_rows(path, dropped):
        if row.has("paragraphs"):
            yield from _article(row, dropped)
            continue
        paragraph, questions = text_of(row.get(*PARAGRAPH)), row.get(*QUESTIONS)
        for question in questions if isinstance(questions, list) else [questions]:
            yield row.where, paragraph, text_of(question)


def _article(row: TableRow, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield the same of one article in SQuAD's layout."""
    try:
        for paragraph in row.need("paragraphs"):
            for asked in paragraph["qas"]:
                if _answered(asked):
                    yield row.where, text_of(paragraph["context"]), text_of(asked["question"])
                else:
                    dropped.add("question without an answer", str(asked.get("id", "")))
    except (KeyError, TypeError, AttributeError) as error:
        raise row.error(f"not SQuAD's layout: {type(error).__name__}: {error}") from error


def _answered(asked: Mapping[str, Any]) -> bool:
    return not asked.get("is_impossible") and bool(asked.get("answers", True))

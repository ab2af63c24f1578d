"""Training examples, their DPR-style JSON (SciMult sheet: inherited from DPR), and papers found by id."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.formats import Role
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Label, Paper
from sciprism.papers.rows import read_named_rows
from sciprism.text.template import Item

PAPERS_FILE = "papers.jsonl"  # the file with the papers of triplets of ids, in their folder
TITLE_SEPARATOR = " [SEP] "  # between title and abstract in a file's questions; the encoder's own template replaces it


@dataclass(frozen=True, slots=True)
class Example:
    """One query, its positives, and its hard negatives.

    answers: targets of a head for the query: names of its classes, or one number.
    """

    query: Item
    positives: tuple[Item, ...] = ()
    negatives: tuple[Item, ...] = ()
    answers: tuple[str | float, ...] = ()


def to_row(example: Example) -> dict[str, Any]:
    """Return an example as a row of a DPR-style file.

    question: a query's words, or "title [SEP] abstract" of a paper, whose id is question_id.
    """
    query = _context(example.query)
    is_text = isinstance(example.query, str)
    question = query["title"] if is_text else TITLE_SEPARATOR.join((query["title"], query["text"]))
    question_id = {"question_id": query["passage_id"]} if query["passage_id"] else {}
    return {"question": question, "answers": list(example.answers), **question_id} | {
        "positive_ctxs": [_context(item) for item in example.positives],
        "negative_ctxs": [],
        "hard_negative_ctxs": [_context(item) for item in example.negatives],
    }


def from_row(
    row: Mapping[str, Any], *, query: Role, candidate: Role, papers: PaperLookup | None = None
) -> Example | None:
    """Return the example of a row; None, as DPR drops rows, without a positive and an answer.

    query, candidate: roles of the texts, which the file does not state. Ordinary negatives are used where
    there are no hard ones. papers: of rows that are triplets of ids: query, positive, negative. Raises
    ValueError for a row that is not an example.
    """
    row = row if isinstance(row, Mapping) else {}
    if papers is not None and "question" not in row and "positive" in row:
        return _triplet(row, papers)
    question, positives = row.get("question"), row.get("positive_ctxs")
    negatives = row.get("hard_negative_ctxs") or row.get("negative_ctxs") or []
    if not isinstance(question, str) or not isinstance(positives, list) or not isinstance(negatives, list):
        raise ValueError("expected an object with question (text), positive_ctxs and hard_negative_ctxs (lists)")
    answers = _answers(row.get("answers"))
    if not positives and not answers:
        return None
    title, _, text = question.partition(TITLE_SEPARATOR)
    query_row = {"title": title, "text": text, "passage_id": row.get("question_id", "")}
    return Example(
        query=question if query == "query" else _item(query_row, query),
        positives=tuple(_item(context, candidate) for context in positives),
        negatives=tuple(_item(context, candidate) for context in negatives),
        answers=answers,
    )


def _triplet(row: Mapping[str, Any], papers: PaperLookup) -> Example:
    """Return the example of three ids; the negative may be missing."""
    texts = []
    for key in ["query", "positive"] + ["negative"] * (row.get("negative") is not None):
        try:
            texts.append(papers[str(row.get(key))])
        except KeyError:
            raise ValueError(f"its {key} {row.get(key)!r:.60} is not a paper of {papers.path.name}") from None
    return Example(texts[0], (texts[1],), tuple(texts[2:]))


def write_examples(examples: Iterable[Example], path: Path) -> int:
    """Write examples as JSON lines, atomically; return how many."""
    lines = (json.dumps(to_row(example), ensure_ascii=False) for example in examples)
    return write_lines(path, lines, errors="replace")  # unpaired surrogates


def read_examples(path: Path, *, query: Role, candidate: Role) -> Iterator[Example]:
    """Yield the examples of a file: JSON lines, or one JSON array as in DPR."""
    papers = PaperLookup(path.parent / PAPERS_FILE)
    for number, (_, row) in enumerate(read_named_rows(InputFile(path)), start=1):
        try:
            example = from_row(row, query=query, candidate=candidate, papers=papers)
        except ValueError as error:
            raise InputError(f"{path}, record {number}: {error}") from error
        if example is not None:
            yield example


def parse_json(content: str | bytes, where: str) -> Any:
    """Return the value of JSON, bytes with or without a byte order mark; `where` is for the InputError."""
    try:
        return json.loads(content)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})") from error


def item_key(item: Item) -> str:
    """Return a key that identifies an item: its text, or class and id, or all fields without an id."""
    return item if isinstance(item, str) else f"{type(item).__name__} {item.id or item}"


def _context(item: Item) -> dict[str, str]:
    if isinstance(item, Paper):
        return {"title": item.title, "text": item.abstract, "passage_id": item.id}
    if isinstance(item, Label):
        return {"title": item.name, "text": item.definition, "passage_id": item.id}
    return {"title": item, "text": "", "passage_id": ""}


def _answers(answers: Any) -> tuple[str | float, ...]:
    if answers is not None and not isinstance(answers, list):
        raise ValueError(f"answers: expected a list of names or numbers, got {answers!r:.60}")
    for answer in answers or ():
        number = isinstance(answer, int | float) and not isinstance(answer, bool)
        if not isinstance(answer, str) and not (number and abs(answer) <= sys.float_info.max):
            raise ValueError(f"answers: expected names or finite numbers, got {answer!r:.60}")
    return tuple(answers or ())


def _item(row: Any, role: Role) -> Item:
    if not isinstance(row, Mapping):
        raise ValueError(f"expected an object with title and text, got {row!r:.60}")
    title, text = (str(row.get(key) or "") for key in ("title", "text"))
    name = str(row.get("passage_id") or row.get("psg_id") or "")
    if role == "label":
        return Label(id=name, name=title, definition=text)
    return Paper(id=name, title=title, abstract=text) if role == "paper" else title or text


class PaperLookup:
    """The papers of one file by id, one a line as written by `Paper.to_json`.

    The file is scanned at the first access; InputError where it is missing or broken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getitem__(self, name: str) -> Paper:
        """Return a paper by its id; KeyError where there is none."""
        offset = self._offsets[name]
        end = self._bytes.find(b"\n", offset)
        return self._paper(self._bytes[offset : end if end >= 0 else None], name)

    def __len__(self) -> int:
        return len(self._offsets)

    @cached_property
    def _bytes(self) -> mmap:
        with self.path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)

    @cached_property
    def _offsets(self) -> dict[str, int]:
        if not self.path.is_file():
            raise InputError(f"{self.path} does not exist; triplets of ids need their papers in this file")
        offsets: dict[str, int] = {}
        offset = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    offsets[self._paper(line, f"line {number}").id] = offset
                offset += len(line)
        return offsets

    def _paper(self, line: bytes, where: str) -> Paper:
        try:
            return Paper.from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{self.path}, {where}: not a paper ({error})") from error

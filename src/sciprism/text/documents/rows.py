"""Rows with a text: JSON lines or a JSON array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sciprism.papers.json_rows import get_first, read_json_objects
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.text.documents.document import (
    Document,
    DocumentFile,
    build_paper,
    join_paragraphs,
    normalise_licence,
)
from sciprism.text.documents.registry import document_readers

TEXTS = ("text", "body", "content", "contents", "abstract")
IDS = ("id", "_id", "paper_id", *PAPER_ID_SYSTEMS)
LANGUAGES, LICENCES = ("language", "lang"), ("licence", "license")


class JsonRowReader:
    """Read the text of each object: its title and the first of `TEXTS`, or the columns given."""

    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")

    def recognises(self, head: str) -> bool:
        """Look for JSON."""
        return head.lstrip()[:1] in ("{", "[")

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the text of each row."""
        for location, row in read_json_objects(file.input_file, file.dropped):
            yield build_row_document(row, file.columns, location)


def build_row_document(row: Mapping[str, Any], columns: tuple[str, ...], location: str) -> Document:
    """Return a row as a document; its text may be empty. location: its id if it has none."""
    name, title = _text(get_first(row, *IDS)) or location, _text(row.get("title"))
    parts = [_text(row.get(each)) for each in columns] or [title, _text(get_first(row, *TEXTS))]
    text = join_paragraphs(*parts)
    paper = Paper(id=name, title=title, abstract=text) if title else build_paper(text, name)
    ids = {system: _text(row[system]) for system in PAPER_ID_SYSTEMS if row.get(system)}
    return Document(
        id=name,
        text=text,
        paper=replace(paper, ids=ids),
        language=_text(get_first(row, *LANGUAGES)),
        licence=normalise_licence(_text(get_first(row, *LICENCES))),
    )


def _text(value: Any) -> str:
    """Return a text or number as text, the texts of a list joined, and "" for anything else."""
    if isinstance(value, list):
        return join_paragraphs(*map(_text, value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


document_readers.register("rows")(JsonRowReader())

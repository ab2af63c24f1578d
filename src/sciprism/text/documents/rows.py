"""Rows with a text: JSON lines, a JSON array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sciprism.papers.json_records import first
from sciprism.papers.json_values import json_values
from sciprism.papers.records import Paper
from sciprism.text.documents.document import NOT_READ, Document, DocumentFile, joined, plain_licence, titled
from sciprism.text.documents.registry import document_readers

TEXTS = ("text", "body", "content", "contents", "abstract")
SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2")
IDS = ("id", "_id", "paper_id", *SYSTEMS)
LANGUAGES, LICENCES = ("language", "lang"), ("licence", "license")


class Rows:
    """Read the text of each object: its title, then the first of `TEXTS`; or the columns asked for."""

    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")

    def recognises(self, head: str) -> bool:
        """Look for JSON."""
        return head.lstrip()[:1] in ("{", "[")

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the text of each row."""
        for number, line, value, reason in json_values(file.source):
            place = file.place(number, line)
            if isinstance(value, Mapping):
                yield of_row(value, file.columns, place)
            else:
                file.dropped.add(NOT_READ, f"{place}: {reason or 'not an object'}"[:300])


def of_row(row: Mapping[str, Any], columns: tuple[str, ...], place: str) -> Document:
    """Return a row as a document; one without a text has an empty one. place: its name if it has no id."""
    name = _words(first(row, *IDS)) or place
    parts = [_words(row.get(each)) for each in columns]
    parts = parts or [
        _words(row.get("title")),
        _words(first(row, *TEXTS)),
    ]
    text = joined(*parts)
    ids = {system: _words(row[system]) for system in SYSTEMS if row.get(system)}
    title = _words(row.get("title"))
    known = Paper(id=name, title=title, abstract=text, ids=ids) if title else titled(text, name)
    return Document(
        id=name,
        text=text,
        paper=Paper(id=name, title=known.title, abstract=known.abstract, ids=ids),
        language=_words(first(row, *LANGUAGES)),
        licence=plain_licence(_words(first(row, *LICENCES))),
    )


def _words(value: Any) -> str:
    """Return a text, a number as one, a list of them joined; "" for anything else."""
    if isinstance(value, list):
        return joined(*map(_words, value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


document_readers.register("rows")(Rows())

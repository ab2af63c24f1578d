"""Descriptions of data sets of NASA's Common Metadata Repository: UMM-C records as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sciprism.papers.cleaning import clean_paper
from sciprism.papers.json_records import first, inside
from sciprism.papers.json_values import json_values
from sciprism.papers.records import Paper
from sciprism.text.documents.document import NOT_READ, Document, DocumentFile, joined, plain_licence
from sciprism.text.documents.registry import document_readers

_MARKS = (re.compile(r'"EntryTitle"\s*:'), re.compile(r'"(Abstract|umm)"\s*:'))


class Cmr:
    """Read title and abstract of each collection: a UMM-C object, alone or as `umm` beside its `meta`."""

    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson", ".umm_json")

    def recognises(self, head: str) -> bool:
        """Look for the fields of UMM-C."""
        return head.lstrip()[:1] in ("{", "[") and all(mark.search(head) for mark in _MARKS)

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each collection of the file, or of the `items` of an answer."""
        for number, line, value, reason in json_values(file.source):
            place = file.place(number, line)
            umm = value.get("umm", value) if isinstance(value, Mapping) else None
            if isinstance(value, Mapping) and isinstance(umm, Mapping):
                yield _document(value, umm, place)
            else:
                file.dropped.add(NOT_READ, f"{place}: {reason or 'not an object'}"[:300])


def _document(row: Mapping[str, Any], umm: Mapping[str, Any], place: str) -> Document:
    doi = inside(umm, "DOI", "DOI")
    paper = clean_paper(
        Paper(
            id=str(inside(row, "meta", "concept-id") or first(row, "concept-id", "ShortName") or place),
            title=_text(umm.get("EntryTitle")),
            abstract=_text(umm.get("Abstract")),
            ids={"doi": doi} if isinstance(doi, str) else {},
        )
    )
    link = inside(umm, "UseConstraints", "LicenseURL", "Linkage")
    return Document(
        id=paper.id,
        text=joined(paper.title, paper.abstract),
        paper=paper,
        language=_text(umm.get("DataLanguage")),
        licence=plain_licence(_text(link) or _text(inside(umm, "UseConstraints", "Description"))),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


document_readers.register("cmr")(Cmr())

"""Records of SAO/NASA ADS: JSON lines, or answers of its search service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sciprism.papers.cleaning import clean_paper, clean_text
from sciprism.papers.json_records import inside, names
from sciprism.papers.json_values import json_values
from sciprism.papers.records import Paper
from sciprism.text.documents.document import NOT_READ, Document, DocumentFile, joined, plain_licence
from sciprism.text.documents.registry import document_readers

_MARK = re.compile(r'"bibcode"\s*:')


class Ads:
    """Read title, abstract and, where it is there, the body of each record."""

    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")

    def recognises(self, head: str) -> bool:
        """Look for a bibcode."""
        return head.lstrip()[:1] in ("{", "[") and _MARK.search(head) is not None

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each record; a file may be an answer, `{"response": {"docs": [..]}}`."""
        for number, line, value, reason in json_values(file.source):
            docs = inside(value, "response", "docs")
            for row in docs if isinstance(docs, list) else [value]:
                try:
                    yield _document(row)
                except ValueError as error:
                    place = file.place(number, line)
                    file.dropped.add(NOT_READ, f"{place}: {reason or error}"[:300])


def _document(row: Any) -> Document:
    if not isinstance(row, Mapping) or not isinstance(row.get("bibcode"), str):
        raise ValueError("not an object with a bibcode")
    paper = clean_paper(
        Paper(
            id=row["bibcode"],
            title=" ".join(names(row.get("title"))),
            abstract=" ".join(names(row.get("abstract"))),
            ids=_ids(row),
        )
    )
    body = clean_text(" ".join(names(row.get("body"))))
    licence = plain_licence(" ".join(names(row.get("license"))))
    language = " ".join(names(row.get("language"))[:1])
    text = joined(paper.title, paper.abstract, body)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=licence)


def _ids(row: Mapping[str, Any]) -> dict[str, str]:
    listed = {"doi": names(row.get("doi"))}
    for name in names(row.get("identifier")):
        if name.lower().startswith("arxiv:"):
            listed["arxiv"] = (name[6:],)
    return {system: found[0] for system, found in listed.items() if found}


document_readers.register("ads")(Ads())

"""Records of SAO/NASA ADS: JSON lines, or responses of its search service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sciprism.papers.cleaning import clean_paper, clean_text
from sciprism.papers.json_rows import get_path, list_texts, read_json_objects
from sciprism.papers.records import Paper
from sciprism.text.documents.document import (
    JSON_SUFFIXES,
    Document,
    DocumentFile,
    is_json,
    join_paragraphs,
    normalise_licence,
    register_reader,
)

_BIBCODE = re.compile(r'"bibcode"\s*:')


@register_reader("ads", JSON_SUFFIXES, lambda head: is_json(head) and _BIBCODE.search(head) is not None)
def read_ads(file: DocumentFile) -> Iterator[Document]:
    """Yield title, abstract and body of each record; a file may be a response, `{"response": {"docs": [..]}}`."""
    for location, value in read_json_objects(file.input_file, file.dropped):
        docs = get_path(value, "response", "docs")
        for row in docs if isinstance(docs, list) else [value]:
            try:
                yield _build_document(row)
            except ValueError as error:
                file.drop_record(location, str(error))


def _build_document(row: Any) -> Document:
    if not isinstance(row, Mapping) or not isinstance(row.get("bibcode"), str):
        raise ValueError("not an object with a bibcode")
    arxiv = [name[6:] for name in list_texts(row.get("identifier")) if name.lower().startswith("arxiv:")]
    ids = {"doi": list_texts(row.get("doi")), "arxiv": arxiv[-1:]}
    paper = clean_paper(
        Paper(
            id=row["bibcode"],
            title=" ".join(list_texts(row.get("title"))),
            abstract=" ".join(list_texts(row.get("abstract"))),
            ids={system: listed[0] for system, listed in ids.items() if listed},
        )
    )
    body = clean_text(" ".join(list_texts(row.get("body"))))
    licence = normalise_licence(" ".join(list_texts(row.get("license"))))
    language = " ".join(list_texts(row.get("language"))[:1])
    text = join_paragraphs(paper.title, paper.abstract, body)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=licence)

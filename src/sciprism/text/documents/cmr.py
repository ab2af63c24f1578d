"""Descriptions of data sets in NASA's Common Metadata Repository: UMM-C records as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sciprism.papers.cleaning import clean_paper
from sciprism.papers.json_rows import get_first, get_path, read_json_objects
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

_KEYS = (re.compile(r'"EntryTitle"\s*:'), re.compile(r'"(Abstract|umm)"\s*:'))


@register_reader(
    "cmr", (*JSON_SUFFIXES, ".umm_json"), lambda head: is_json(head) and all(key.search(head) for key in _KEYS)
)
def read_cmr(file: DocumentFile) -> Iterator[Document]:
    """Yield title and abstract of each collection: a UMM-C object, alone or as `umm` next to its `meta`.

    A file may be a response with `items`.
    """
    for location, value in read_json_objects(file.input_file, file.dropped):
        umm = value.get("umm", value)
        if isinstance(umm, Mapping):
            yield _build_document(value, umm, location)
        else:
            file.drop_record(location, "umm is not an object")


def _build_document(row: Mapping[str, Any], umm: Mapping[str, Any], location: str) -> Document:
    doi = get_path(umm, "DOI", "DOI")
    paper = clean_paper(
        Paper(
            id=str(get_path(row, "meta", "concept-id") or get_first(row, "concept-id", "ShortName") or location),
            title=_text(umm.get("EntryTitle")),
            abstract=_text(umm.get("Abstract")),
            ids={"doi": doi} if isinstance(doi, str) else {},
        )
    )
    link = get_path(umm, "UseConstraints", "LicenseURL", "Linkage")
    return Document(
        id=paper.id,
        text=join_paragraphs(paper.title, paper.abstract),
        paper=paper,
        language=_text(umm.get("DataLanguage")),
        licence=normalise_licence(_text(link) or _text(get_path(umm, "UseConstraints", "Description"))),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""Semantic Scholar papers: answers of the API, the bulk data sets, and the older research corpus.

The id is the paper's hash, or its corpus number where the file has no hash. Of an answer about citations,
the paper at the other end is read.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.json_records import JsonReader, Row, first, inside, names, year_in
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = re.compile(
    r'"(paperid|corpusid|externalids|s2fieldsofstudy|outcitations|paperabstract|citedpaper|citingpaper)"\s*:',
    re.IGNORECASE,
)
_SYSTEMS = {"doi": "doi", "arxiv": "arxiv", "pubmed": "pmid", "pubmedcentral": "pmcid", "mag": "mag"}


def _paper(answer: Row) -> Paper:
    inner = first(answer, "citedPaper", "citingPaper")
    # The API writes corpusId and fieldsOfStudy, the bulk files corpusid and fieldsofstudy.
    row = {key.lower(): value for key, value in (inner if isinstance(inner, dict) else answer).items()}
    number = first(row, "paperid", "id", "corpusid")
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": first(row, "abstract", "paperabstract"),
            "authors": names(row.get("authors"), "name"),
            "venue": first(row, "venue", "journalname")
            or inside(row, "journal", "name")
            or inside(row, "publicationvenue", "name"),
            "year": year_in(first(row, "year", "publicationdate")),
            "fields": names(
                [*names(row.get("fieldsofstudy")), *names(row.get("s2fieldsofstudy"), "category")]
            ),
            "references": names(first(row, "references", "outcitations"), "paperId", "corpusId"),
            "ids": _ids(row, number),
        }
    )


def _ids(row: Row, number: Any) -> dict[str, Any]:
    listed = inside(row, "externalids")
    external = {key.lower(): value for key, value in listed.items()} if isinstance(listed, dict) else {}
    ids = {ours: external.get(theirs) or row.get(ours) for theirs, ours in _SYSTEMS.items()}
    return {system: value for system, value in {"s2": number, **ids}.items() if value}


paper_readers.register("semantic_scholar")(JsonReader((_KEYS,), _paper))

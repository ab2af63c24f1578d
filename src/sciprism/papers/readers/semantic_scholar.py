"""Semantic Scholar papers: responses of the API, the bulk data sets, and the older research corpus.

The id is the paper's hash, else its corpus number. In a response about citations, the citing or cited paper
is read.
"""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonObject, JsonReader, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = re.compile(
    r'"(paperid|corpusid|externalids|s2fieldsofstudy|outcitations|paperabstract|citedpaper|citingpaper)"\s*:',
    re.IGNORECASE,
)
_SYSTEMS = {"doi": "doi", "arxiv": "arxiv", "pubmed": "pmid", "pubmedcentral": "pmcid", "mag": "mag"}


def _build_paper(answer: JsonObject) -> Paper:
    inner = get_first(answer, "citedPaper", "citingPaper")
    # The API writes corpusId and fieldsOfStudy, the bulk files corpusid and fieldsofstudy.
    row = {key.lower(): value for key, value in (inner if isinstance(inner, dict) else answer).items()}
    number = get_first(row, "paperid", "id", "corpusid")
    listed = get_path(row, "externalids")
    external = {key.lower(): value for key, value in listed.items()} if isinstance(listed, dict) else {}
    ids = {"s2": number, **{ours: external.get(theirs) or row.get(ours) for theirs, ours in _SYSTEMS.items()}}
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": get_first(row, "abstract", "paperabstract"),
            "authors": list_texts(row.get("authors"), "name"),
            "venue": get_first(row, "venue", "journalname")
            or get_path(row, "journal", "name")
            or get_path(row, "publicationvenue", "name"),
            "year": parse_year(get_first(row, "year", "publicationdate")),
            "fields": list_texts(
                [
                    *list_texts(row.get("fieldsofstudy")),
                    *list_texts(row.get("s2fieldsofstudy"), "category"),
                ]
            ),
            "references": list_texts(get_first(row, "references", "outcitations"), "paperId", "corpusId"),
            "ids": {system: value for system, value in ids.items() if value},
        }
    )


paper_readers.register("semantic_scholar")(JsonReader((_KEYS,), _build_paper))

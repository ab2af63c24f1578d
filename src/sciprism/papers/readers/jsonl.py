"""Our own rows, as `Paper.to_json` writes them, and rows of others that name things much as we do.

Most formats of JSON have an id and a title, so a file is one of ours only if no key tells of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sciprism.papers.json_records import JsonReader, Row, first, names, year_in
from sciprism.papers.notations import split_keywords, split_names
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_IDS = ("id", "paper_id", "corpus_id", "pmid", "doi")
_ID = re.compile(rf'"({"|".join(_IDS)})"\s*:')
_TEXT = re.compile(r'"(title|abstract|text)"\s*:')
_FOREIGN = re.compile(
    r'"(_id|abstract_inverted_index|referenced_works|authorships|paperId|corpusid|externalIds|outCitations'
    r'|authors_parsed|update_date|container-title|issued)"\s*:'
)
_SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "isbn", "url")


def _paper(row: Row) -> Paper:
    ids = row.get("ids")
    if ids is not None and not isinstance(ids, dict):
        raise ValueError(f"ids is {ids!r}, not an object")
    listed = {system: row[system] for system in _SYSTEMS if row.get(system)}
    system, _, number = str(row.get("id")).partition(":")  # such as pmid:9854
    if system in _SYSTEMS:
        listed.setdefault(system, number)
    return Paper.from_json(
        {
            "id": first(row, *_IDS),
            "title": row.get("title"),
            "abstract": first(row, "abstract", "text"),
            "authors": _several(first(row, "authors", "author"), split_names),
            "venue": first(row, "venue", "journal"),
            "year": year_in(row.get("year")),
            "fields": _several(first(row, "fields", "field")) + _several(row.get("categories")),
            "keywords": _several(first(row, "keywords", "mesh")),
            "references": _several(row.get("references")),
            "ids": {system: value for system, value in {**listed, **(ids or {})}.items() if value},
        }
    )


def _several(value: Any, split: Callable[[str], tuple[str, ...]] = split_keywords) -> tuple[str, ...]:
    return split(value) if isinstance(value, str) else names(value, "name", "id")


paper_readers.register("jsonl")(JsonReader((_ID, _TEXT), _paper, foreign=_FOREIGN))

"""Our own rows, as `Paper.to_json` writes them, and rows of others that name things much as we do.

Registered last: other formats of JSON have an id and a title too.
"""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonReader, Row, first, names, year_in
from sciprism.papers.readers import paper_readers
from sciprism.papers.records import Paper

_IDS = ("id", "paper_id", "corpus_id", "pmid", "doi")
_ID = re.compile(rf'"({"|".join(_IDS)})"\s*:')
_TEXT = re.compile(r'"(title|abstract)"\s*:')
_SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "isbn", "url")
_BETWEEN = re.compile(r"\s*;\s*")


def _paper(row: Row) -> Paper:
    ids = row.get("ids")
    if ids is not None and not isinstance(ids, dict):
        raise ValueError(f"ids is {ids!r}, not an object")
    listed = {system: row[system] for system in _SYSTEMS if row.get(system)}
    return Paper.from_json(
        {
            "id": first(row, *_IDS),
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": _several(row, "authors", "author"),
            "venue": first(row, "venue", "journal"),
            "year": year_in(row.get("year")),
            "fields": _several(row, "fields", "field") + _several(row, "categories"),
            "keywords": _several(row, "keywords", "mesh"),
            "references": _several(row, "references"),
            "ids": {system: value for system, value in {**listed, **(ids or {})}.items() if value},
        }
    )


def _several(row: Row, *keys: str) -> tuple[str, ...]:
    """Return the list under the first of `keys` that is filled; a text is split at semicolons."""
    value = first(row, *keys)
    return names(_BETWEEN.split(value) if isinstance(value, str) else value, "name", "id")


paper_readers.register("jsonl")(JsonReader((_ID, _TEXT), _paper))

"""SPECTER's `metadata.json`, also SciDocs' `paper_metadata_*.json`: one JSON object, id -> paper.

Authors are ids of Semantic Scholar there; only names are read.
"""

from __future__ import annotations

import re

from sciprism.papers.json_records import KEYED_RECORDS, JsonObject, JsonReader, get_first, list_texts, parse_year
from sciprism.papers.json_values import JsonLayout
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import ID_SYSTEMS, Paper

_HASH = re.compile("[0-9a-f]{40}")


def _build_paper(row: JsonObject) -> Paper:
    number = get_first(row, "id", "paper_id")
    ids = {system: row[system] for system in ID_SYSTEMS if row.get(system)}
    if isinstance(number, str) and _HASH.fullmatch(number):
        ids.setdefault("s2", number)
    cited = row.get("references")
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": [name for name in list_texts(row.get("authors"), "name") if not name.isdecimal()],
            "venue": get_first(row, "venue", "journal"),
            "year": parse_year(row.get("year")),
            "fields": list_texts(get_first(row, "fields", "fieldsOfStudy", "mag_field_of_study")),
            "keywords": list_texts(get_first(row, "keywords", "mesh")),
            "references": list_texts(list(cited) if isinstance(cited, dict) else cited, "paper_id", "paperId"),
            "ids": ids,
        }
    )


paper_readers.register("specter")(
    JsonReader((re.compile(KEYED_RECORDS),), _build_paper, suffixes=(".json",), layout=JsonLayout(keyed=True))
)

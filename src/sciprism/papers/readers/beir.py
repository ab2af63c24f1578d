"""The `corpus.jsonl` of a retrieval test collection in BEIR's layout.

`text` is the abstract; `metadata` may hold further fields.
"""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonObject, JsonReader, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = (re.compile(r'"_id"\s*:'), re.compile(r'"text"\s*:'))


def _build_paper(row: JsonObject) -> Paper:
    about = row.get("metadata")
    about = about if isinstance(about, dict) else {}
    ids = {
        "doi": get_first(about, "doi"),
        "pmid": get_first(about, "pmid", "pubmed_id"),
        "url": get_first(about, "url"),
    }
    return Paper.from_json(
        {
            "id": get_path(row, "_id"),
            "title": row.get("title"),
            "abstract": row.get("text"),
            "authors": list_texts(about.get("authors"), "name"),
            "venue": get_first(about, "venue", "journal"),
            "year": parse_year(about.get("year")),
            "keywords": list_texts(about.get("keywords")),
            "references": list_texts(about.get("references")),
            "ids": {system: value for system, value in ids.items() if value},
        }
    )


paper_readers.register("beir")(JsonReader(_KEYS, _build_paper))

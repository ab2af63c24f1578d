"""The `corpus.jsonl` of a retrieval test collection in BEIR's layout.

`text` is the abstract; what `metadata` says of a paper is taken over.
"""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonReader, Row, first, inside, names, year_in
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_ID = re.compile(r'"_id"\s*:')
_TEXT = re.compile(r'"text"\s*:')


def _paper(row: Row) -> Paper:
    about = row.get("metadata")
    about = about if isinstance(about, dict) else {}
    ids = {
        "doi": first(about, "doi"),
        "pmid": first(about, "pmid", "pubmed_id"),
        "url": first(about, "url"),
    }
    return Paper.from_json(
        {
            "id": inside(row, "_id"),
            "title": row.get("title"),
            "abstract": row.get("text"),
            "authors": names(about.get("authors"), "name"),
            "venue": first(about, "venue", "journal"),
            "year": year_in(about.get("year")),
            "keywords": names(about.get("keywords")),
            "references": names(about.get("references")),
            "ids": {system: value for system, value in ids.items() if value},
        }
    )


paper_readers.register("beir")(JsonReader((_ID, _TEXT), _paper))

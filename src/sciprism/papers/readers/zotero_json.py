"""Zotero's items as JSON: replies of its API (`/items`), and exports by Better BibTeX as "BetterBibTeX JSON".

The id is the key of the item, in an export by Better BibTeX the citation key. Attachments, notes and deleted items are
no papers. Of an API's reply collections are keys without names, and are not read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sciprism.papers.bibliographic_fields import find_year
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_first, get_path, list_texts
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.readers.zotero import FIELDS, NO_PAPERS, build_item
from sciprism.papers.records import Paper

_KEYS = re.compile(r'"itemType"\s*:|"label"\s*:\s*"BetterBibTeX JSON"')

_BETTER_BIBTEX_IDS = ("citationKey", "citekey", "itemKey", "key", "itemID")


def _find_omission(item: Any) -> str:
    row = _fields(item)
    kind = first_text(row.get("itemType"))
    return "deleted item" if row.get("deleted") else kind if kind in NO_PAPERS else ""


@paper_readers.json_objects(
    "zotero_json",
    'Zotero\'s items as JSON: replies of its API, and "BetterBibTeX JSON"',
    (_KEYS,),
    layout=JsonLayout(("items",)),
    find_omission=_find_omission,
)
def _build_paper(item: JsonObject) -> Paper:
    row = _fields(item)
    people = row.get("creators")
    paper = build_item(
        first_text(get_first(item, "key") if "data" in item else get_first(item, *_BETTER_BIBTEX_IDS)),
        {name: first_text(row.get(name)) for name in FIELDS},
        creators=map(_parse_creator, people if isinstance(people, list) else ()),
        tags=list_texts(row.get("tags"), "tag"),
    )
    return replace(paper, year=paper.year or find_year(first_text(get_path(item, "meta", "parsedDate"))))


def _fields(item: Any) -> JsonObject:
    """Return the fields of an item: in the API's replies they are inside `data`."""
    inner = get_path(item, "data")
    return inner if isinstance(inner, dict) else item if isinstance(item, dict) else {}


def _parse_creator(creator: Any) -> tuple[Any, Any, Any]:
    first, last = get_path(creator, "firstName"), get_path(creator, "lastName")
    return get_path(creator, "creatorType"), first, last or get_path(creator, "name")

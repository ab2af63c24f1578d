"""Zotero's items as JSON: replies of its API (`/items`), and exports by Better BibTeX as "BetterBibTeX JSON".

The id is the key of the item, in an export by Better BibTeX the citation key. Attachments, notes and deleted items are
no papers. Of an API's reply collections are keys without names, and are not read.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.bibliographic_fields import find_noted_ids, find_year
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_first, get_path, list_texts
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.readers.zotero import DATES, NO_PAPERS, NUMBERS, TITLES, VENUES, name_authors
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
    noted = row.get("extra")
    number = next((text for key in NUMBERS if (text := first_text(row.get(key))).lower().startswith("arxiv:")), "")
    ids = {"doi": row.get("DOI"), "isbn": row.get("ISBN"), "url": row.get("url"), "arxiv": number}
    people = row.get("creators")
    return Paper(
        id=first_text(get_first(item, "key") if "data" in item else get_first(item, *_BETTER_BIBTEX_IDS)),
        title=first_text(get_first(row, *TITLES)),
        abstract=first_text(row.get("abstractNote")),
        authors=name_authors(map(_parse_creator, people if isinstance(people, list) else ())),
        venue=first_text(get_first(row, *VENUES)),
        year=find_year(first_text(get_first(row, *DATES)))
        or find_year(first_text(get_path(item, "meta", "parsedDate"))),
        keywords=list_texts(row.get("tags"), "tag"),
        ids=(find_noted_ids(noted) if isinstance(noted, str) else {})
        | {system: text for system, value in ids.items() if (text := first_text(value))},
    )


def _fields(item: Any) -> JsonObject:
    """Return the fields of an item: in the API's replies they are inside `data`."""
    inner = get_path(item, "data")
    return inner if isinstance(inner, dict) else item if isinstance(item, dict) else {}


def _parse_creator(creator: Any) -> tuple[Any, Any, Any]:
    first, last = get_path(creator, "firstName"), get_path(creator, "lastName")
    return get_path(creator, "creatorType"), first, last or get_path(creator, "name")

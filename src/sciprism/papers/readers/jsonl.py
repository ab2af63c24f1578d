"""Papers as `Paper.to_json` writes them, JSON of others with similar keys, and BEIR's `corpus.jsonl`.

Most JSON formats have an id and a title, so a file with a key of another format is excluded. In BEIR's files `text` is
the abstract; `metadata` may hold further fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sciprism.papers.bibliographic_fields import reorder_name, split_keywords, split_names
from sciprism.papers.json_rows import JsonLayout, JsonObject, find_text, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import KEYED_RECORDS, paper_readers, without
from sciprism.papers.records import ID_SYSTEMS, Paper

_IDS = ("id", "paper_id", "corpus_id", "pmid", "doi")
_YEARS = ("year", "publication_year", "pub_year", "yearPublished", "published", "publication_date")
_ID = re.compile(rf'"({"|".join(_IDS)})"\s*:')
_TEXT = re.compile(r'"(title|abstract|text)"\s*:')
_BEIR = (re.compile(r'"_id"\s*:'), re.compile(r'"text"\s*:'))
_OTHER_FORMATS = without(
    r'"(_id|abstract_inverted_index|referenced_works|authorships|paperId|corpusid|externalIds|outCitations'
    r"|authors_parsed|update_date|container-title|issued|invitations?|tcdate|itemType|message-type|recommendedPapers"
    r'|authorString|resultList)"\s*:|"content"\s*:\s*\{|"titles"\s*:\s*\['
    r'|"id"\s*:\s*"https://openalex\.org/W'
    rf"|{KEYED_RECORDS}"
)


@paper_readers.json_objects(
    "jsonl",
    "Papers as `Paper.to_json` writes them, and JSON of others with similar keys",
    (_ID, _TEXT, _OTHER_FORMATS),
    layout=JsonLayout(("results", "items", "data", "articles", "papers", "records")),
)
def _build_paper(row: JsonObject) -> Paper:
    if isinstance(inner := row.get("metadata"), dict):
        row = {**inner, **row}  # replies of Zenodo's API hold the description and the creators inside
    ids = row.get("ids")
    if ids is not None and not isinstance(ids, dict):
        raise ValueError(f"ids is {ids!r}, not an object")
    lists = [key for key, value in row.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if lists and not get_first(row, *_IDS, "title", "abstract", "text"):
        raise ValueError(f"not a paper, but an object that holds the list {lists[0]!r}; save that list as a file")
    listed = {system: row[system] for system in ID_SYSTEMS if row.get(system)}
    system, _, value = str(row.get("id")).partition(":")  # such as pmid:9854
    if system in ID_SYSTEMS:
        listed.setdefault(system, value)
    creators = tuple(map(reorder_name, _parse_list(row.get("creators"), split_names)))
    number = get_first(row, *_IDS)
    if number in (0, "0") and get_first(row, *_IDS[:3]) is None:
        number = "NA"  # it is the PMID, and there is none
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": get_first(row, "abstract", "text", "abstractText", "description"),
            "authors": _parse_list(get_first(row, "authors", "author"), split_names) or creators,
            "venue": get_first(row, "venue") or get_path(row, "journal", "title") or row.get("journal"),
            "year": parse_year(get_first(row, *_YEARS)),
            "fields": _parse_list(get_first(row, "fields", "field")) + _parse_list(row.get("categories")),
            "keywords": _parse_list(get_first(row, "keywords", "mesh", "meshMajor")),
            "references": _parse_list(row.get("references")),
            "ids": {system: value for system, value in {**listed, **(ids or {})}.items() if value},
            "volume": find_text(row, "volume"),
            "issue": find_text(row, "issue", "number"),
            "pages": find_text(row, "pages"),
        }
    )


def _parse_list(value: Any, split: Callable[[str], tuple[str, ...]] = split_keywords) -> tuple[str, ...]:
    return split(value) if isinstance(value, str) else list_texts(value, "name", "id")


@paper_readers.json_objects("beir", "The `corpus.jsonl` of a retrieval test collection in BEIR's layout", _BEIR)
def _build_beir_paper(row: JsonObject) -> Paper:
    about = row.get("metadata")
    about = about if isinstance(about, dict) else {}
    ids = {"doi": about.get("doi"), "pmid": get_first(about, "pmid", "pubmed_id"), "url": about.get("url")}
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

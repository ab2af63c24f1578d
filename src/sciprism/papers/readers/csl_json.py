"""CSL-JSON, as Zotero, Mendeley, Paperpile and pandoc write it."""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.bibliographic_fields import find_noted_ids, find_year, split_keywords
from sciprism.papers.json_rows import JsonObject, get_first, list_texts
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_MARK = re.compile(
    r'"(?:issued|date-parts|container-title|family|citation-key)"\s*:'
    r'|"type"\s*:\s*"(?:article-(?:journal|magazine|newspaper)|paper-conference|post-weblog|entry-encyclopedia)"'
)
_SYSTEMS = ("DOI", "PMID", "PMCID", "ISBN", "URL")


@paper_readers.json_objects(
    "csl_json",
    "CSL-JSON, as Zotero, Mendeley, Paperpile and pandoc write it",
    (_MARK,),
    suffixes=(".csl.json", ".csljson", ".json", ".jsonl", ".ndjson"),
)
def _build_paper(row: JsonObject) -> Paper:
    people, words = get_first(row, "author", "editor"), get_first(row, "keyword", "categories")
    return Paper(
        id=_text(get_first(row, "id", "citation-key")),
        title=_text(get_first(row, "title", "title-short")),
        abstract=_text(row.get("abstract")),
        authors=tuple(filter(None, map(_parse_person, people if isinstance(people, list) else [people]))),
        venue=_text(get_first(row, "container-title", "event-title", "collection-title", "publisher")),
        year=_parse_year(get_first(row, "issued", "original-date", "submitted")),
        keywords=split_keywords(words) if isinstance(words, str) else list_texts(words, "tag", "name"),
        ids=_collect_ids(row),
    )


def _text(value: Any) -> str:
    """Return a text or a number as text, the first item of a list (as in Crossref)."""
    texts = list_texts(value)
    return texts[0] if texts else ""


def _parse_person(value: Any) -> str:
    if not isinstance(value, dict):
        return _text(value)
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    whole = " ".join(filter(None, (_text(value.get(part)) for part in parts)))
    return _text(value.get("literal")) or whole or _text(value.get("name"))


def _parse_year(value: Any) -> int | None:
    if not isinstance(value, dict):
        return find_year(_text(value))
    parts = value.get("date-parts")
    while isinstance(parts, list) and parts:
        parts = parts[0]
    if isinstance(parts, int | float | str) and (year := re.match(r"\d{1,4}\b", str(parts))):
        return int(year[0])
    return find_year(" ".join(_text(value.get(key)) for key in ("raw", "literal", "season")))


def _collect_ids(row: JsonObject) -> dict[str, str]:
    ids = {system.lower(): value for system in _SYSTEMS if (value := _text(row.get(system)))}
    note = row.get("note")
    for system, value in find_noted_ids(note).items() if isinstance(note, str) else ():
        ids.setdefault(system, value)
    number = _text(row.get("number"))  # Zotero: "arXiv:1706.03762" of a preprint
    if number.lower().startswith("arxiv:"):
        ids.setdefault("arxiv", number)
    return ids

"""CSL-JSON, as Zotero, Mendeley, Paperpile and pandoc write it."""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.json_records import JsonReader, Row, first, names
from sciprism.papers.notations import find_year, split_keywords
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_MARK = re.compile(
    r'"(?:issued|date-parts|container-title|family|citation-key)"\s*:'
    r'|"type"\s*:\s*"(?:article-(?:journal|magazine|newspaper)|paper-conference|post-weblog|entry-encyclopedia)"'
)
# Variables that CSL has no name for stand as "PMID: 123" in the note.
_NOTED = re.compile(r"^\s*(DOI|PMID|PMCID|arXiv|ISBN)\s*:\s*(\S*\d\S*)", re.IGNORECASE | re.MULTILINE)
_SYSTEMS = ("DOI", "PMID", "PMCID", "ISBN", "URL")


def _paper(row: Row) -> Paper:
    return Paper(
        id=_text(first(row, "id", "citation-key")),
        title=_text(first(row, "title", "title-short")),
        abstract=_text(row.get("abstract")),
        authors=_people(first(row, "author", "editor")),
        venue=_text(first(row, "container-title", "event-title", "collection-title", "publisher")),
        year=_year(first(row, "issued", "original-date", "submitted")),
        keywords=_keywords(first(row, "keyword", "categories")),
        ids=_ids(row),
    )


def _text(value: Any) -> str:
    """Return a text or a number as text; of a list (Crossref's habit) the first item."""
    found = names(value)
    return found[0] if found else ""


def _people(value: Any) -> tuple[str, ...]:
    people = value if isinstance(value, list) else [value]
    return tuple(filter(None, map(_person, people)))


def _person(value: Any) -> str:
    if not isinstance(value, dict):
        return _text(value)
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    whole = " ".join(filter(None, (_text(value.get(part)) for part in parts)))
    return _text(value.get("literal")) or whole or _text(value.get("name"))


def _year(value: Any) -> int | None:
    if not isinstance(value, dict):
        return find_year(_text(value))
    parts = value.get("date-parts")
    while isinstance(parts, list) and parts:
        parts = parts[0]
    if isinstance(parts, int | float | str) and (year := re.match(r"\d{1,4}\b", str(parts))):
        return int(year[0])
    return find_year(" ".join(_text(value.get(key)) for key in ("raw", "literal", "season")))


def _keywords(value: Any) -> tuple[str, ...]:
    return split_keywords(value) if isinstance(value, str) else names(value, "tag", "name")


def _ids(row: Row) -> dict[str, str]:
    ids = {system.lower(): value for system in _SYSTEMS if (value := _text(row.get(system)))}
    note = row.get("note")
    for system, value in _NOTED.findall(note) if isinstance(note, str) else ():
        ids.setdefault(system.lower(), value)
    number = _text(row.get("number"))  # Zotero: "arXiv:1706.03762" of a preprint
    if number.lower().startswith("arxiv:"):
        ids.setdefault("arxiv", number)
    return ids


paper_readers.register("csl_json")(
    JsonReader((_MARK,), _paper, suffixes=(".csl.json", ".csljson", ".json", ".jsonl", ".ndjson"))
)

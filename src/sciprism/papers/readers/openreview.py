"""OpenReview notes as versions 1 and 2 of its API give them: reviews and comments (replies) are no papers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from sciprism.papers.bibliographic_fields import split_keywords, split_names
from sciprism.papers.cleaning import normalize_arxiv
from sciprism.papers.json_rows import JsonLayout, JsonObject, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

# Archives of reviewers' papers hold only id and content.
_KEYS = (
    re.compile(r'"content"\s*:\s*\{'),
    re.compile(r'"(?:invitations?|tcdate|forum)"\s*:|"content"\s*:\s*\{\s*"(?:title|abstract)"\s*:'),
)


def _find_omission(note: Any) -> str:
    if not isinstance(note, dict):
        return ""
    if note.get("ddate"):
        return "deleted note"
    is_reply = note.get("replyto") or note.get("forum") not in (None, "", note.get("id"))
    return "reply" if is_reply else ""


@paper_readers.json_objects(
    "openreview",
    "OpenReview notes as versions 1 and 2 of its API give them: reviews and comments (replies) are no papers",
    _KEYS,
    layout=JsonLayout(("notes",)),
    find_omission=_find_omission,
)
def _build_paper(note: JsonObject) -> Paper:
    content = note.get("content")
    if not isinstance(content, dict):
        raise ValueError("the note has no content")
    # Version 2 writes {"title": {"value": "..."}}, version 1 {"title": "..."}.
    row = {key: get_path(item, "value") if isinstance(item, dict) else item for key, item in content.items()}
    people, words, link = row.get("authors"), row.get("keywords"), row.get("html")
    link = link if isinstance(link, str) else ""
    ids = {"doi": row.get("doi") or (link if "doi.org/" in link else ""), "arxiv": normalize_arxiv(link), "url": link}
    return Paper.from_json(
        {
            "id": note.get("id"),
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": split_names(people) if isinstance(people, str) else list_texts(people, "fullname", "name"),
            "venue": row.get("venue"),
            "year": _parse_date(note.get("pdate")) or parse_year(row.get("venue")) or _parse_date(note.get("cdate")),
            "fields": list_texts(get_first(row, "primary_area", "subject_areas")),
            "keywords": split_keywords(words) if isinstance(words, str) else list_texts(words),
            "ids": {system: value for system, value in ids.items() if value},
        }
    )


def _parse_date(milliseconds: Any) -> int | None:
    """Return the year of a time in milliseconds since 1970."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).year
    except (ValueError, OverflowError, OSError):
        return None

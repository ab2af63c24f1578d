"""DataCite's metadata: replies of its API (`/dois`), and what doi.org answers to its type of content.

The title is the first of `titles` that has no type, with the subtitles; the abstract is the description of that type.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.bibliographic_fields import reorder_name
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_path, list_texts
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.csl_json import join_title
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = (re.compile(r'"titles"\s*:\s*\['), re.compile(r'"(?:creators|publicationYear|descriptions)"\s*:'))
_ORCID = re.compile(r"\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b")


@paper_readers.json_objects(
    "datacite",
    "DataCite's metadata: replies of its API, and DataCite JSON of doi.org",
    _KEYS,
    layout=JsonLayout(("data",)),
)
def _build_paper(answer: JsonObject) -> Paper:
    outer = answer["data"] if isinstance(answer.get("data"), dict) else answer
    row = outer["attributes"] if isinstance(outer.get("attributes"), dict) else outer
    titles = _select(row, "titles", "titleType", "title", "") or list_texts(row.get("titles"), "title")
    people = _as_list(row, "creators")
    return build_listed_paper(
        "datacite",
        lambda path: list_texts(get_path(row, *path.split(".")), "name", "subject"),
        id="" if row.get("doi") else first_text(outer.get("id")),
        title=join_title(first_text(list(titles)), _select(row, "titles", "titleType", "title", "Subtitle")),
        abstract=first_text(list(_select(row, "descriptions", "descriptionType", "description", "Abstract"))),
        authors=tuple(filter(None, map(_parse_person, people))),
        orcids={_parse_person(person): orcid for person in people if (orcid := _find_orcid(person))},
    )


def _select(row: JsonObject, name: str, type_key: str, key: str, kind: str) -> tuple[str, ...]:
    """Return the texts of one type ("" for those without a type) in a list of typed texts."""
    items = (item for item in _as_list(row, name) if isinstance(item, dict))
    return list_texts([item.get(key) for item in items if (item.get(type_key) or "") == kind])


def _parse_person(value: Any) -> str:
    if not isinstance(value, dict):
        return first_text(value)
    whole = " ".join(filter(None, (first_text(value.get(key)) for key in ("givenName", "familyName"))))
    name = first_text(value.get("name"))
    return whole or (name if value.get("nameType") == "Organizational" else reorder_name(name))


def _find_orcid(value: Any) -> str:
    orcids = list_texts(get_path(value, "nameIdentifiers"), "nameIdentifier")
    return next((orcid for orcid in orcids if _ORCID.search(orcid)), "")


def _as_list(row: JsonObject, key: str) -> list[Any]:
    value = row.get(key)
    return value if isinstance(value, list) else []

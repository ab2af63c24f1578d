"""OpenAlex works: pages of the API, or one work a line as in the snapshot.

Ids and references are short (`W2741809807`); abstracts are put in order again from their inverted index.
Fields are the 26 that topics belong to, or the 19 widest concepts of older files, so that a field has many
papers; subfields, topics and narrower concepts are keywords.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.json_records import JsonReader, Row, first, inside, names, year_in
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_WORK = re.compile(
    r'"id"\s*:\s*"https://openalex\.org/W|"(abstract_inverted_index|referenced_works|authorships)"\s*:'
)
_SCORE = 0.3  # concepts below are guesses that OpenAlex itself did not assign


def _paper(row: Row) -> Paper:
    number = _short(inside(row, "id") or inside(row, "ids", "openalex"))
    ids = {
        "openalex": number,
        "doi": first(row, "doi") or inside(row, "ids", "doi"),
        **{system: _short(inside(row, "ids", system)) for system in ("pmid", "pmcid", "mag")},
    }
    fields, narrower = _fields(row)
    return Paper.from_json(
        {
            "id": number,
            "title": first(row, "title", "display_name"),
            "abstract": _abstract(row.get("abstract_inverted_index")) or row.get("abstract"),
            "authors": names([_author(item) for item in _list(row, "authorships")]),
            "venue": inside(row, "primary_location", "source", "display_name")
            or inside(row, "host_venue", "display_name")
            or inside(row, "primary_location", "raw_source_name"),
            "year": year_in(first(row, "publication_year", "publication_date")),
            "fields": fields,
            "keywords": names(
                [
                    *names(_list(row, "keywords"), "display_name", "keyword"),
                    *names(_list(row, "mesh"), "descriptor_name"),
                    *narrower,
                ]
            ),
            "references": names([_short(work) for work in _list(row, "referenced_works")]),
            "ids": {system: value for system, value in ids.items() if value},
        }
    )


def _abstract(index: Any) -> str:
    """Put the words of an inverted index, word -> positions, in order."""
    if index is None:
        return ""
    try:
        places = [(int(place), word) for word, found in index.items() for place in found]
    except (AttributeError, TypeError) as error:
        raise ValueError(f"abstract_inverted_index does not map words to positions: {error}") from None
    return " ".join(word for _, word in sorted(places))


def _fields(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields, and what is narrower; of concepts without levels all are fields."""
    topics = _list(row, "topics") or _list(row, "primary_topic")
    if topics:
        levels = (("subfield", "display_name"), ("display_name",))
        narrower = names([inside(topic, *path) for path in levels for topic in topics])
        return names([inside(topic, "field", "display_name") for topic in topics]), narrower
    concepts = [item for item in _list(row, "concepts") if _score(item) >= _SCORE]
    if all(inside(item, "level") is None for item in concepts):
        return names(concepts, "display_name"), ()
    widest = [item for item in concepts if inside(item, "level") == 0]
    return names(widest, "display_name"), names([c for c in concepts if c not in widest], "display_name")


def _score(concept: Any) -> float:
    score = inside(concept, "score")
    return score if isinstance(score, int | float) else 1.0


def _author(authorship: Any) -> Any:
    return inside(authorship, "author", "display_name") or inside(authorship, "raw_author_name")


def _short(address: Any) -> Any:
    """Return the last part of an address such as `https://openalex.org/W2741809807`."""
    return address.rstrip("/").rsplit("/", 1)[-1] if isinstance(address, str) else address


def _list(row: Row, key: str) -> list[Any]:
    value = row.get(key)
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


paper_readers.register("openalex")(JsonReader((_WORK,), _paper))

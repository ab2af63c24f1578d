"""OpenAlex works: pages of the API, or one work a line as in the snapshot.

The snapshot's lists of merged ids (`merged_ids/works/*.csv.gz`) are read too: each id that was merged into another is a
deletion. Ids and references are short (`W2741809807`); abstracts are rebuilt from their inverted index. Fields are the
26 fields of topics, or the 19 top-level concepts of older files; subfields, topics and narrower concepts are
keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sciprism.limits import describe_excess, limit
from sciprism.papers.bibliographic_fields import find_retraction, join_pages
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonObject, find_text, get_first, get_path, list_texts, parse_year
from sciprism.papers.printed_values import nest_columns
from sciprism.papers.readers.registry import JSON_SUFFIXES, paper_readers, read_objects
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.rows import detect_layout, normalize_header, read_rows

_WORK = re.compile(r'"id"\s*:\s*"https://openalex\.org/W|"(abstract_inverted_index|referenced_works|authorships)"\s*:')
_MERGED = re.compile(r"\A[^\n]*\bmerge_into_id\b")
_ID_COLUMN, _MERGED_COLUMNS = "id", ("mergedate", "id", "mergeintoid")
_WORK_ID = re.compile(r"(?:https?://openalex\.org/(?:works/)?)?([Ww]\d+)/?")
_LISTS = ("authorships", "keywords", "topics", "concepts", "mesh")
_MIN_SCORE = 0.3  # OpenAlex assigns no concepts below


def _build_paper(row: JsonObject) -> Paper:
    row = nest_columns(row, lists=_LISTS, maps=("abstract_inverted_index",))
    number = _shorten(get_path(row, "id") or get_path(row, "ids", "openalex"))
    ids = {
        "openalex": number,
        "doi": row.get("doi") or get_path(row, "ids", "doi"),
        **{system: _shorten(get_path(row, "ids", system)) for system in ("pmid", "pmcid", "mag")},
    }
    names = [
        get_path(person, "author", "display_name") or get_path(person, "raw_author_name")
        for person in _as_list(row, "authorships")
    ]
    orcids = [get_path(person, "author", "orcid") for person in _as_list(row, "authorships")]
    fields, narrower = _fields(row)
    printed = row.get("biblio")
    words = list_texts(_as_list(row, "keywords"), "display_name", "keyword")
    headings = list_texts(_as_list(row, "mesh"), "descriptor_name")
    return Paper.from_json(
        {
            "id": number,
            "title": get_first(row, "title", "display_name"),
            "abstract": _build_abstract(row.get("abstract_inverted_index")) or row.get("abstract"),
            "authors": list_texts(names),
            "venue": get_path(row, "primary_location", "source", "display_name")
            or get_path(row, "host_venue", "display_name")
            or get_path(row, "primary_location", "raw_source_name"),
            "year": parse_year(get_first(row, "publication_year", "publication_date")),
            "fields": fields,
            "keywords": list_texts([*words, *headings, *narrower]),
            "references": list_texts([_shorten(work) for work in _as_list(row, "referenced_works")]),
            "ids": {system: value for system, value in ids.items() if value},
            "orcids": {name: orcid for name, orcid in zip(names, orcids, strict=True) if name and orcid},
            "volume": find_text(printed, "volume"),
            "issue": find_text(printed, "issue"),
            "pages": join_pages(find_text(printed, "first_page"), find_text(printed, "last_page")),
        },
        notice=find_retraction(str(row.get("is_retracted"))),
    )


def _build_abstract(index: Any) -> str:
    """Put the words of an inverted index, word -> positions, in order."""
    if index is None:
        return ""
    try:
        most = limit("words")
        listed = ((int(position), word) for word, positions in index.items() for position in positions)
        words = list(islice(listed, most + 1))
        if len(words) > most or sum(len(word) for _, word in words) > limit("field"):
            raise ValueError(describe_excess("words" if len(words) > most else "field"))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"abstract_inverted_index does not map words to positions: {error}") from None
    return " ".join(word for _, word in sorted(words))


def _fields(row: JsonObject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields and the narrower topics; concepts without levels are all fields."""
    # A table may have the name of the primary topic without its field.
    topics = _as_list(row, "topics") or [
        topic for topic in _as_list(row, "primary_topic") if get_path(topic, "field") is not None
    ]
    if topics:
        levels = (("subfield", "display_name"), ("display_name",))
        narrower = list_texts([get_path(topic, *path) for path in levels for topic in topics])
        return list_texts([get_path(topic, "field", "display_name") for topic in topics]), narrower
    concepts = [
        item
        for item in _as_list(row, "concepts")
        if (score := get_path(item, "score")) is None or float(score) >= _MIN_SCORE
    ]
    if all(get_path(item, "level") is None for item in concepts):
        return list_texts(concepts, "display_name"), ()
    widest = [item for item in concepts if get_path(item, "level") in (0, "0")]
    return list_texts(widest, "display_name"), list_texts([c for c in concepts if c not in widest], "display_name")


def _shorten(address: Any) -> Any:
    """Return the last part of an address such as `https://openalex.org/W2741809807`."""
    return address.rstrip("/").rsplit("/", 1)[-1] if isinstance(address, str) else address


def _as_list(row: JsonObject, key: str) -> list[Any]:
    value = row.get(key)
    if isinstance(value, str):
        return value.split("|")
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_openalex(head: str) -> bool:
    """Look for a key of works, or for the header of merged ids."""
    is_json = head.lstrip()[:1] in ("{", "[")
    return _MERGED.match(head) is not None or (is_json and _WORK.search(head) is not None)


@paper_readers.reader(
    "openalex",
    "OpenAlex works: pages of the API, or one work a line as in the snapshot",
    JSON_SUFFIXES,
    check=_is_openalex,
    build=_build_paper,
)
def read_openalex(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield every work of a file, or the deletion of every work that was merged into another."""
    return _read_merged(file) if _MERGED.match(file.head()) else read_objects(file, _build_paper)


def _read_merged(file: InputFile) -> Iterator[Deletion | BadRecord]:
    layout = detect_layout(file.head(), lambda headers: {*map(normalize_header, headers)} & {*_MERGED_COLUMNS})
    column = [*map(normalize_header, layout.headers)].index(_ID_COLUMN)
    number, file.deletes = 0, True
    for cells, fault in read_rows(file, layout):
        work = None if fault else _WORK_ID.fullmatch(cells[column].strip() if column < len(cells) else "")
        if work is None and not fault:
            file.omitted["other merged id"] += 1
            continue
        number += 1
        yield BadRecord(number, file.record_line, fault) if work is None else Deletion(work[1].upper())

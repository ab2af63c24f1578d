"""Zotero: its library `zotero.sqlite` (Zotero 5 to 7), read from a copy as Zotero may be open; its JSON.

`zotero.sqlite#NAME` reads one library ("My Library", a group) or one collection with those inside it. The id of a paper
is the item's key, in JSON of Better BibTeX the citation key; its fields are its collections, its keywords the tags.
Attachments, notes and deleted items are not papers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import RETRACTED, find_noted_ids, find_year
from sciprism.papers.cleaning import join_name
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions, copy_file
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.rows import FIELD_NAMES, JsonObject, first_text, get_first, get_path, list_texts

_TABLES = {
    *("items", "itemTypes", "itemData", "itemDataValues", "fields", "creators", "creatorTypes", "itemCreators", "tags"),
    *("itemTags", "collections", "collectionItems", "deletedItems", "libraries", "groups"),
}
NO_PAPERS = ("attachment", "note", "annotation")  # kinds of items that are not papers, in both formats of Zotero
_ITEMS = """
SELECT itemID, key, typeName, libraryID, itemID IN (SELECT itemID FROM deletedItems)
FROM items LEFT JOIN itemTypes USING (itemTypeID) ORDER BY itemID
"""
_FIELDS = """
SELECT fieldName, value FROM itemData JOIN fields USING (fieldID) JOIN itemDataValues USING (valueID) WHERE itemID = ?
"""
_CREATORS = """
SELECT creatorType, firstName, lastName FROM itemCreators
JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID) WHERE itemID = ? ORDER BY orderIndex
"""
_TAGS = "SELECT name FROM itemTags JOIN tags USING (tagID) WHERE itemID = ? ORDER BY name"
_MEMBERSHIPS = "SELECT collectionID FROM collectionItems WHERE itemID = ? ORDER BY collectionID"
_NUMBERS = ("archiveID", "number", "reportNumber")  # "arXiv:1706.03762" of a preprint
FIELDS = (*chain.from_iterable(FIELD_NAMES["formats"]["zotero"].values()), *_NUMBERS, "extra")
"""Zotero's fields that are read."""
MAX_LISTED = 40  # names that a message lists
_LIBRARY_NAMES = {"user": "My Library", "publications": "My Publications"}
_LIBRARIES = "SELECT libraries.libraryID, type, name FROM libraries LEFT JOIN groups USING (libraryID)"
_COLLECTIONS = "SELECT collectionID, collectionName, parentCollectionID, libraryID FROM collections"


@paper_readers.reader("zotero")
def read_zotero(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield every item of all libraries but feeds, or of the part that is named, which InputError says is unknown.

    A fault of the file is one BadRecord.
    """
    number = 1
    try:
        with copy_file(file, ("-journal", "-wal")) as copy, closing(sqlite3.connect(copy)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.execute("PRAGMA trusted_schema = OFF")
            if lacking := _TABLES - set(_column(database, "SELECT name FROM sqlite_master")):
                reason = f"not a library of Zotero 5 or later: no table {', '.join(sorted(lacking)[:3])}"
                yield BadRecord(1, None, reason)
                return
            for record in _read_items(database, file):
                yield record
                number += 1
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from a message that quotes damaged bytes
        reason = f"the database is damaged, nothing after this can be read: {error}"
        yield BadRecord(number, None, f"{reason}; Zotero keeps a copy, zotero.sqlite.bak")


def _read_items(database: sqlite3.Connection, file: InputFile) -> Iterator[Paper | BadRecord]:
    libraries, names, paths = _read_collections(database)
    part = _find_part(file, [*libraries.values(), *paths.values()]) if file.part else ""
    inside = {number for number, path in paths.items() if f"{path}/".startswith(f"{part}/")}
    whole = {number for number, path in libraries.items() if part in ("", path)}
    retracted = _list_numbers(database, "retractedItems", "itemID")  # by Retraction Watch, which Zotero asks
    number = 0
    for item, key, kind, library, deleted in database.execute(_ITEMS):
        memberships = _column(database, _MEMBERSHIPS, item)
        if library not in libraries or not (library in whole or not inside.isdisjoint(memberships)):
            continue
        if deleted or kind in NO_PAPERS:
            file.omitted["deleted item" if deleted else kind] += 1
            continue
        number += 1
        paper = build_item(
            str(key or ""),
            {str(name): _text(value) for name, value in database.execute(_FIELDS, (item,))},
            creators=database.execute(_CREATORS, (item,)),
            tags=filter(None, map(_text, _column(database, _TAGS, item))),
            collections=[names[place] for place in memberships if place in names],
        )
        if paper.title or paper.abstract:
            yield replace(paper, notice=RETRACTED) if item in retracted else paper
        else:
            yield BadRecord(
                number, None, f"the item {key} ({kind or 'of an unknown type'}) has no title and no abstract"
            )


def build_item(
    id: str,
    fields: Mapping[str, str],
    *,
    creators: Iterable[tuple[Any, Any, Any]],
    tags: Iterable[str],
    collections: Iterable[str] = (),
) -> Paper:
    """Build the paper of an item. fields: by Zotero's names. creators: kind, given and last name of each."""
    number = next((fields[name] for name in _NUMBERS if fields.get(name, "").lower().startswith("arxiv:")), "")
    return build_listed_paper(
        "zotero",
        lambda name: [fields.get(name, "")],
        id=id,
        authors=_name_authors(creators),
        fields=tuple(collections),
        keywords=tuple(tags),
        ids=find_noted_ids(fields.get("extra", "")) | ({"arxiv": number} if number else {}),
    )


def _name_authors(creators: Iterable[tuple[Any, Any, Any]]) -> tuple[str, ...]:
    """Return the authors, else those of the first kind of creator (editors, inventors ...)."""
    people = [(kind, join_name(_text(given), _text(last))) for kind, given, last in creators]
    chosen = "author" if any(kind == "author" for kind, _ in people) else next((kind for kind, _ in people), "")
    return tuple(name for kind, name in people if kind == chosen and name)


def _text(value: Any) -> str:
    """Return a value of a column without declared type as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _column(database: sqlite3.Connection, query: str, *values: object) -> list[Any]:
    return [row[0] for row in database.execute(query, values)]


def _list_numbers(database: sqlite3.Connection, table: str, column: str) -> set[Any]:
    """Return the numbers in a table that libraries of an earlier Zotero lack: then none."""
    exists = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone()
    return set(_column(database, f"SELECT {column} FROM {table}")) if exists else set()


def _read_collections(database: sqlite3.Connection) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Return the names of libraries, the names of collections, and their paths, by number.

    Feeds are not libraries, and deleted collections are not among them.
    """
    libraries = {
        number: str(name or _LIBRARY_NAMES.get(kind) or f"library {number}")
        for number, kind, name in database.execute(_LIBRARIES)
        if kind != "feed"
    }
    deleted = _list_numbers(database, "deletedCollections", "collectionID")
    rows = {row[0]: row[1:] for row in database.execute(_COLLECTIONS) if row[0] not in deleted and row[3] in libraries}
    names = {number: str(name) for number, (name, _, _) in rows.items()}
    paths = {}
    for number, (_, _, library) in rows.items():
        place, seen = number, dict[int, str]()
        while place is not None and place not in seen:  # a damaged file may hold a circle
            seen[place] = names.get(place, "deleted")
            place = rows[place][1] if place in rows else None
        paths[number] = "/".join([libraries[library], *reversed(seen.values())])
    return libraries, names, paths


def _find_part(file: InputFile, paths: Sequence[str]) -> str:
    """Return the one path that the part of a file names, or the end of; InputError lists what there is otherwise."""
    wanted = file.part.strip("/").casefold()
    exact = [path for path in paths if path.casefold() == wanted]
    matches = exact if len(exact) == 1 else [path for path in paths if f"/{path}".casefold().endswith(f"/{wanted}")]
    if len(matches) == 1:
        return matches[0]
    reason = "several have this name; write more of the path" if matches else "no such library or collection; it has"
    listed = sorted(matches or paths)
    more = f"; {len(listed) - MAX_LISTED:,} more" if len(listed) > MAX_LISTED else ""
    raise InputError(f"{file.full_name}: {reason}: {'; '.join(listed[:MAX_LISTED])}{more}")


_BETTER_BIBTEX_IDS = ("citationKey", "citekey", "itemKey", "key", "itemID")


def _find_omission(item: Any) -> str:
    row = _fields(item)
    kind = first_text(row.get("itemType"))
    return "deleted item" if row.get("deleted") else kind if kind in NO_PAPERS else ""


@paper_readers.json_objects("zotero_json", find_omission=_find_omission)
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

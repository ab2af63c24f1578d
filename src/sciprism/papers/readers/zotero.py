"""The library of Zotero 5 to 7, `zotero.sqlite`, read from a copy: Zotero may be open.

`zotero.sqlite#NAME` reads one library ("My Library", a group) or one collection with those inside it. The id of a paper
is the item's key, its fields are its collections, its keywords the tags.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from sciprism.papers.bibliographic_fields import find_noted_ids, find_year
from sciprism.papers.file_copies import copy_file
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.zotero_collections import ZoteroCollections

_MAGIC = "SQLite format 3\x00"
_TABLES = {
    *("items", "itemTypes", "itemData", "itemDataValues", "fields", "creators", "creatorTypes", "itemCreators", "tags"),
    *("itemTags", "collections", "collectionItems", "deletedItems", "libraries", "groups"),
}
_NO_PAPERS = ("attachment", "note", "annotation")
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
# Each kind of item has its own field of these names; the best first.
_TITLES = ("title", "caseName", "nameOfAct", "subject")
_VENUES = (
    *("publicationTitle", "proceedingsTitle", "bookTitle", "encyclopediaTitle", "dictionaryTitle", "conferenceName"),
    *("blogTitle", "websiteTitle", "forumTitle", "programTitle", "repository", "university", "institution"),
    *("series", "reporter", "publisher"),
)
_DATES = ("date", "dateDecided", "dateEnacted", "issueDate", "filingDate")
_NUMBERS = ("archiveID", "number", "reportNumber")  # "arXiv:1706.03762" of a preprint


class ZoteroReader:
    """Read the items of all libraries, or of the part that is named; feeds are not read."""

    suffixes: tuple[str, ...] = (".sqlite",)
    reads_parts = True

    def recognises(self, head: str) -> bool:
        """Look for the mark of an SQLite database."""
        return head.startswith(_MAGIC)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield every item; raises InputError for an unknown part. A fault of the file is one BadRecord."""
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
    collections = ZoteroCollections.read(database)
    selection = collections.select(file.part, f"{file.path}#{file.part}") if file.part else None
    number = 0
    for item, key, kind, library, deleted in database.execute(_ITEMS):
        memberships = _column(database, _MEMBERSHIPS, item)
        if library not in collections.libraries or (selection and not selection.holds(library, memberships)):
            continue
        if deleted or kind in _NO_PAPERS:
            file.omitted["deleted item" if deleted else kind] += 1
            continue
        number += 1
        names = [collections.names[each] for each in memberships if each in collections.names]
        paper = _build_paper(database, item, str(key or ""), names)
        if paper.title or paper.abstract:
            yield paper
        else:
            yield BadRecord(
                number, None, f"the item {key} ({kind or 'of an unknown type'}) has no title and no abstract"
            )


def _build_paper(database: sqlite3.Connection, item: int, key: str, collections: list[str]) -> Paper:
    fields = {str(name): _text(value) for name, value in database.execute(_FIELDS, (item,))}
    noted = find_noted_ids(fields.get("extra", ""))
    number = next((fields[name] for name in _NUMBERS if fields.get(name, "").lower().startswith("arxiv:")), "")
    ids = {"doi": fields.get("DOI"), "isbn": fields.get("ISBN"), "url": fields.get("url"), "arxiv": number}
    return Paper(
        id=key,
        title=_first(fields, _TITLES),
        abstract=fields.get("abstractNote", ""),
        authors=_name_authors(database.execute(_CREATORS, (item,))),
        venue=_first(fields, _VENUES),
        year=find_year(_first(fields, _DATES)),
        fields=tuple(collections),
        keywords=tuple(filter(None, map(_text, _column(database, _TAGS, item)))),
        ids=noted | {system: value for system, value in ids.items() if value},
    )


def _name_authors(creators: Iterable[tuple[Any, Any, Any]]) -> tuple[str, ...]:
    """Return the authors, else those of the first kind of creator (editors, inventors ...)."""
    people = [(kind, " ".join(filter(None, (_text(given), _text(last))))) for kind, given, last in creators]
    chosen = "author" if any(kind == "author" for kind, _ in people) else next((kind for kind, _ in people), "")
    return tuple(name for kind, name in people if kind == chosen and name)


def _first(fields: dict[str, str], names: Iterable[str]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(value: Any) -> str:
    """Return a value of a column without declared type as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _column(database: sqlite3.Connection, query: str, *values: object) -> list[Any]:
    return [row[0] for row in database.execute(query, values)]


paper_readers.register("zotero")(ZoteroReader())

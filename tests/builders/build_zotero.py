"""A `zotero.sqlite` as Zotero 6 and 7 write it: the tables that hold items."""

import sqlite3
from contextlib import closing
from pathlib import Path

SCHEMA = """
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT, templateItemTypeID INT, display INT DEFAULT 1);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT, fieldFormatID INT);
CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
CREATE TABLE libraries (libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL, version INT NOT NULL DEFAULT 0);
CREATE TABLE groups (groupID INTEGER PRIMARY KEY, libraryID INT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, libraryID INT NOT NULL, key TEXT NOT NULL,
    dateAdded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (libraryID, key));
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID));
CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT);
CREATE TABLE itemCreators (itemID INT NOT NULL, creatorID INT NOT NULL, creatorTypeID INT NOT NULL DEFAULT 1,
    orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex));
CREATE TABLE tags (tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE itemTags (itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL, PRIMARY KEY (itemID, tagID));
CREATE TABLE collections (collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL,
    parentCollectionID INT DEFAULT NULL, libraryID INT NOT NULL, key TEXT NOT NULL);
CREATE TABLE collectionItems (collectionID INT NOT NULL, itemID INT NOT NULL, PRIMARY KEY (collectionID, itemID));
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
CREATE TABLE retractedItems (itemID INTEGER PRIMARY KEY, data TEXT, flag INT DEFAULT 0);
CREATE TABLE deletedCollections (collectionID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
"""
MINE, READING_GROUP, FEED = 1, 2, 3


class ZoteroBuilder:
    """Fills the tables as Zotero does: each value, name and tag is stored once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        database.executescript(SCHEMA)
        libraries = [(MINE, "user"), (READING_GROUP, "group"), (FEED, "feed")]
        database.executemany("INSERT INTO libraries (libraryID, type) VALUES (?, ?)", libraries)
        database.execute("INSERT INTO groups VALUES (99, ?, 'Reading group')", [READING_GROUP])

    def add_collection(self, name: str, parent: int | None = None, library: int = MINE) -> int:
        about = {"parentCollectionID": parent, "libraryID": library, "key": name[:8]}
        return self._insert("collections", collectionName=name, **about)

    def add_item(self, kind, key, fields=(), *, creators=(), tags=(), collections=(), library=MINE, deleted=False):
        """Add an item and return its number; fields: name -> value; creators: (kind, given, last)."""
        item = self._insert("items", itemTypeID=self._once("itemTypes", typeName=kind), libraryID=library, key=key)
        for name, value in dict(fields).items():
            field, number = self._once("fields", fieldName=name), self._once("itemDataValues", value=value)
            self._insert("itemData", itemID=item, fieldID=field, valueID=number)
        for order, (creator_kind, given, last) in enumerate(creators):
            person = self._once("creators", firstName=given, lastName=last, fieldMode=int(not given))
            role = self._once("creatorTypes", creatorType=creator_kind)
            self._insert("itemCreators", itemID=item, creatorID=person, creatorTypeID=role, orderIndex=order)
        for tag in tags:
            self._insert("itemTags", itemID=item, tagID=self._once("tags", name=tag), type=0)
        for collection in collections:
            self._insert("collectionItems", collectionID=collection, itemID=item)
        if deleted:
            self._insert("deletedItems", itemID=item)
        return item

    def _once(self, table: str, **values: object) -> int:
        where = " AND ".join(f"{name} = ?" for name in values)
        found = self.database.execute(f"SELECT rowid FROM {table} WHERE {where}", list(values.values())).fetchone()
        return found[0] if found else self._insert(table, **values)

    def _insert(self, table: str, **values: object) -> int:
        insertion = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
        return self.database.execute(insertion, list(values.values())).lastrowid or 0


def build_zotero(path: Path) -> None:
    """Write a small library: two of its own items in nested collections, one of a group, and all that is no paper."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        library = ZoteroBuilder(database)
        thesis = library.add_collection("Thesis")
        tides = library.add_collection("Tides", thesis)
        shared = library.add_collection("Tides", library=READING_GROUP)
        wrack = {
            "title": "Uptake of CO<sub>2</sub> by bladder wrack",
            "abstractNote": "Wrack takes up carbon.",
            "publicationTitle": "Journal of tidal medicine",
            "date": "1999-03-00 March 1999",
            "DOI": "10.9999/Tidal.1",
            "url": "https://example.org/wrack",
            "extra": "PMID: 90000001\nCitation Key: brandstrom1999",
        }
        people = [("editor", "Ed", "Itor"), ("author", "Åsa", "Brandström"), ("author", "", "Tidal Society")]
        tags = ["kelp", "carbon"]
        library.add_item("journalArticle", "WRACK001", wrack, creators=people, tags=tags, collections=[tides])
        preprint = {"title": "Tides in small harbours", "archiveID": "arXiv:2101.00001", "repository": "arXiv"}
        library.add_item("preprint", "TIDES001", preprint, collections=[thesis])
        case = {
            "caseName": "Harbour v. Sea",
            "dateDecided": "1888-00-00 1888",
            "abstractNote": "On the right to drain.",
        }
        place = {"library": READING_GROUP, "collections": [shared]}
        library.add_item("case", "CASE0001", case, creators=[("counsel", "A", "B")], **place)
        library.add_item("attachment", "PDF00001", {"title": "wrack.pdf"})
        library.add_item("note", "NOTE0001")
        library.add_item("annotation", "ANNO0001")
        library.add_item("journalArticle", "GONE0001", {"title": "Thrown away"}, deleted=True)
        library.add_item("webpage", "FEED0001", {"title": "From a feed"}, library=FEED)

"""The libraries and collections of a Zotero database, by their names."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from sciprism.errors import InputError

MAX_LISTED = 40
"""Names that a message lists."""

_LIBRARY_NAMES = {"user": "My Library", "publications": "My Publications"}
_LIBRARIES = "SELECT libraries.libraryID, type, name FROM libraries LEFT JOIN groups USING (libraryID)"
_COLLECTIONS = "SELECT collectionID, collectionName, parentCollectionID, libraryID FROM collections"
_DELETED = "SELECT collectionID FROM deletedCollections"  # since Zotero 6


@dataclass(frozen=True, slots=True)
class ZoteroSelection:
    """A library, or collections of one."""

    library: int
    collections: frozenset[int] | None

    def holds(self, library: int, memberships: Collection[int]) -> bool:
        """Say whether an item of this library and of these collections is selected."""
        if self.collections is None:
            return library == self.library
        return not self.collections.isdisjoint(memberships)


@dataclass(frozen=True, slots=True)
class ZoteroCollections:
    """libraries, names: of libraries and of collections, by number; parents: of collections, None at the top.

    Feeds are no libraries, and deleted collections are not in it.
    """

    libraries: dict[int, str]
    names: dict[int, str]
    parents: dict[int, int | None]
    owners: dict[int, int]

    @classmethod
    def read(cls, database: sqlite3.Connection) -> ZoteroCollections:
        """Read all names of a database."""
        libraries = {
            number: str(name or _LIBRARY_NAMES.get(kind) or f"library {number}")
            for number, kind, name in database.execute(_LIBRARIES)
            if kind != "feed"
        }
        has_deleted = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'deletedCollections'").fetchone()
        deleted = {number for (number,) in database.execute(_DELETED)} if has_deleted else set()
        rows = [row for row in database.execute(_COLLECTIONS) if row[0] not in deleted and row[3] in libraries]
        return cls(
            libraries,
            {number: str(name) for number, name, _, _ in rows},
            {number: parent for number, _, parent, _ in rows},
            {number: library for number, _, _, library in rows},
        )

    def select(self, name: str, asked: str) -> ZoteroSelection:
        """Return the library or collection of a name, or of the end of its path, such as `Group/Topic`.

        asked: how the user named it. InputError lists what there is where none or several have the name.
        """
        paths: dict[tuple[int, int | None], str] = {(number, None): path for number, path in self.libraries.items()}
        paths |= {(self.owners[number], number): self._path(number) for number in self.names}
        wanted = name.strip("/").casefold()
        exact = [key for key, path in paths.items() if path.casefold() == wanted]
        ending = [key for key, path in paths.items() if f"/{path}".casefold().endswith(f"/{wanted}")]
        found = exact if len(exact) == 1 else ending
        if len(found) == 1:
            library, collection = found[0]
            return ZoteroSelection(library, None if collection is None else self._inside(collection))
        if found:
            listed = "; ".join(sorted(paths[key] for key in found)[:MAX_LISTED])
            raise InputError(f"{asked}: several have this name: {listed}; write more of the path")
        raise InputError(f"{asked}: no such library or collection{_list_names(wanted, list(paths.values()))}")

    def _inside(self, collection: int) -> frozenset[int]:
        """Return a collection with all collections inside it."""
        return frozenset(number for number in self.names if collection in self._ancestors(number))

    def _ancestors(self, collection: int) -> list[int]:
        """Return a collection, its parent, and so on to the top."""
        found: list[int] = []
        next_one: int | None = collection
        while next_one is not None and next_one not in found:  # a damaged file may hold a circle
            found.append(next_one)
            next_one = self.parents.get(next_one)
        return found

    def _path(self, collection: int) -> str:
        names = [self.names.get(number, "deleted") for number in reversed(self._ancestors(collection))]
        return "/".join([self.libraries[self.owners[collection]], *names])


def _list_names(wanted: str, paths: list[str]) -> str:
    """Return "; did you mean ..." with the nearest name, and the list of all."""
    by_name = {path.rsplit("/", 1)[-1].casefold(): path for path in paths}
    near = get_close_matches(wanted.rsplit("/", 1)[-1], by_name, n=1)
    meant = f"; did you mean {by_name[near[0]]!r}?" if near else ""
    more = f"; {len(paths) - MAX_LISTED:,} more" if len(paths) > MAX_LISTED else ""
    return f"{meant or ';'} it has: {'; '.join(sorted(paths)[:MAX_LISTED])}{more}"

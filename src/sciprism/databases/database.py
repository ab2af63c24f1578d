"""What sciprism needs of a database: one table of papers with their vectors, and a record that says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import ValidationError

from sciprism.errors import InputError, RunFailedError, import_extra
from sciprism.store.collection import EncoderRecord, SpaceRecord, StoredRecord

KINDS = {"qdrant": "qdrant", "postgresql": "postgres"}
"""Kinds of databases: the scheme of their addresses -> their module here, which is also the extra that they need."""
_HOST = r"(?P<host>[\w.-]+)(:(?P<port>\d{1,5}))?"
_NAME = r"(?P<name>[A-Za-z_][A-Za-z0-9_]{0,39})"
_PATTERNS = (
    rf"(?P<kind>qdrant)://({_HOST}|(?P<place>/.+))/{_NAME}",
    rf"(?P<kind>postgresql)://({_HOST})?/(?P<place>[^/?@]+)/{_NAME}",
)
HNSW_LINKS, HNSW_CONSTRUCTION, HNSW_SEARCH = 32, 200, 128  # of approximate search, as those of the local graph


Address = re.Match[str]
"""A collection in a database: its kind, host and port ("" for none), place (a folder, or a server's database), name."""


def parse_address(text: str) -> Address:
    """Parse an address. Raises InputError for another form, which it does not repeat: it may have a password."""
    for match in (re.fullmatch(pattern, text) for pattern in _PATTERNS):
        if match is not None:
            return match
    raise InputError(
        "addresses are qdrant://HOST:PORT/NAME, qdrant:///FOLDER/NAME, postgresql://HOST:PORT/DATABASE/NAME; NAME has "
        "letters, digits and _; users, passwords and keys are read from PGUSER, PGPASSWORD and QDRANT_API_KEY"
    )


class RemoteRecord(StoredRecord):
    """What a push wrote. complete: False from its start to its end. approximate: whether there is an HNSW index."""

    layout: Literal[3] = 3
    encoder: EncoderRecord
    spaces: dict[str, SpaceRecord]
    approximate: bool = False
    complete: bool = False

    def __str__(self) -> str:
        return f"{self.encoder.name} (fingerprint {self.encoder.fingerprint}, spaces {', '.join(self.spaces)})"

    def column(self, space: str) -> str:
        """Return the name of a space's vectors."""
        return "vector_" + re.sub(r"\W", "_", self.spaces[space].folder)


Conditions = dict[str, Any]
"""Which rows a search may return: `year_from`, `year_to` (inclusive); of venue, fields, authors a list of names."""


class Query(NamedTuple):
    """A search of the rows that pass conditions for the k best.

    mode: "vectors", by `vector` (d,) in a column of the record; "words", by any word of the text. exact: without the
    approximate index.
    """

    mode: str
    text: str
    vector: list[float] | None
    column: str
    distance: str
    k: int
    exact: bool
    conditions: Conditions


class VectorDatabase(Protocol):
    """A connection to one collection of a database.

    Rows are stored by `key`, a signed 64-bit number; storing a key again replaces its row. failures: the errors that
    the client raises. advice: patterns of their class and words -> what a user should do.
    """

    address: Address
    failures: ClassVar[tuple[type[Exception], ...]]
    advice: ClassVar[dict[str, str]]

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise the client's errors as InputError, with advice, or RunFailedError, in one line."""
        try:
            yield
        except (InputError, RunFailedError):
            raise
        except self.failures as error:
            words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            for pattern, advice in self.advice.items():
                if re.search(pattern, words):
                    raise InputError(f"{self.address.string}: {advice} ({words})") from error
            raise RunFailedError(
                f"{self.address.string}: {words}; mend that, and run the same command again"
            ) from error

    def read_record(self) -> RemoteRecord | None:
        """Return what was pushed, None for nothing; InputError where something else is there."""
        text = self.read_text()
        try:
            return None if text is None else RemoteRecord.model_validate_json(text)
        except ValidationError:
            text = "is not what this version of sciprism pushes; drop it there, or push to another name"
            raise InputError(f"{self.address.string} {text}") from None

    def close(self) -> None:
        """Close the connection."""

    def read_text(self) -> str | None:
        """Return the record's JSON, None where the table is missing, "" where it has none."""

    def write(self, record: RemoteRecord) -> None:
        """Store the record, with a table that is created where it is missing."""

    def index(self, record: RemoteRecord) -> None:
        """Build or drop the approximate index, as the record says."""

    def upsert(self, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        """Store rows by key, all before it returns. columns: of vectors; `text` is where words are found."""

    def delete(self, keys: Sequence[int]) -> None:
        """Delete rows."""

    def read_versions(self) -> dict[int, int]:
        """Return the version of each key."""

    def count(self, conditions: Conditions) -> int:
        """Count the rows that pass, exactly."""

    def count_names(self, column: str) -> dict[str, int]:
        """Return the names in a column, and how many papers have each."""

    def search(self, query: Query) -> list[tuple[float, str]]:
        """Return scores (more is better) and papers as JSON."""


@contextmanager
def open_database(text: str) -> Iterator[VectorDatabase]:
    """Connect to the database of an address."""
    address = parse_address(text)
    with import_extra(KINDS[kind := address["kind"]], f"a {kind} database"):
        module = import_module(f"sciprism.databases.{KINDS[kind]}")
    database: VectorDatabase = module.connect(address)
    try:
        with database.explained():
            yield database
    finally:
        database.close()

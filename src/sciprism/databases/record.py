"""The record of a pushed collection, a table of texts: its encoder and spaces, counts of words, venues, authors ..."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from sciprism.databases.address import Address
from sciprism.databases.database import TableSchema, VectorDatabase
from sciprism.databases.term_weights import SparseVector, Terms, TermStatistics, weigh_queries
from sciprism.errors import InputError
from sciprism.store.known_papers import hash64
from sciprism.store.manifest import EncoderRecord, SpaceRecord, StoredRecord

LAYOUT = 2
"""Version of what a push writes; another one is refused. 2: words of texts are folded, and rows have authors."""
RECORD = "record"
BUCKET_ENTRIES = 256
"""Texts at most, on average, in a part of a map of terms, venues or fields: a part is small, and read on its own."""
TERM_MAP = "term"  # the map of terms: the number of each, and how many papers have it
UNLISTED = 1  # papers that have a term that the map does not list; if none has it, its weight does not matter
WRITTEN = 128  # texts that are written at once


class LexicalRecord(StoredRecord):
    """The space whose table has lexical weights, and the statistics that they were computed with."""

    space: str
    documents: int
    mean_length: float
    k1: float
    b: float

    def statistics(self) -> TermStatistics:
        """Return the statistics."""
        return TermStatistics(self.documents, self.mean_length, self.k1, self.b)


class RemoteRecord(StoredRecord):
    """What a push wrote. complete: False from its start to its end. buckets: the parts of each map of texts."""

    layout: int = LAYOUT
    encoder: EncoderRecord
    spaces: dict[str, SpaceRecord]
    complete: bool = False
    approximate: bool = False
    years: tuple[int, int] | None = None
    lexical: LexicalRecord | None = None
    buckets: dict[str, int] = Field(default_factory=dict)

    def table(self, name: str, space: str) -> str:
        """Return the name of the table of a space."""
        return f"{name}_{self.spaces[space].folder.replace('-', '_')}"

    def table_schema(self, space: str) -> TableSchema:
        """Return the schema that the table of a space must have."""
        return TableSchema(self.spaces[space].dim, self.encoder.distance, self.approximate)


def record_table(name: str) -> str:
    """Return the name of the table of texts."""
    return f"{name}_sciprism"


def read_record(database: VectorDatabase, address: Address) -> RemoteRecord | None:
    """Read the record, None where nothing was pushed. InputError where it cannot be read."""
    text = database.read_texts(record_table(address.name), [RECORD]).get(RECORD)
    if text is None:
        return None
    try:
        layout = int(json.loads(text).get("layout", 0))
        if layout != LAYOUT:
            raise InputError(
                f"{address} has layout {layout}, and this version of sciprism reads {LAYOUT}; push to another name, or "
                "drop its collections there and push again"
            )
        return RemoteRecord.model_validate_json(text)
    except (ValidationError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{address}: its record in {record_table(address.name)} is damaged; push to another name"
        ) from None


def write_record(database: VectorDatabase, address: Address, record: RemoteRecord) -> None:
    """Write the record."""
    database.write_texts(record_table(address.name), {RECORD: record.model_dump_json()})


def check_table(database: VectorDatabase, address: Address, record: RemoteRecord, space: str) -> TableSchema | None:
    """Return the layout of the table of a space, None where it is missing; InputError for another schema."""
    table, wanted = record.table(address.name, space), record.table_schema(space)
    layout = database.describe(table)
    if layout is not None and (layout.dim, layout.distance) != (wanted.dim, wanted.distance):
        raise InputError(
            f"{address}: the collection {table} has vectors of {layout.dim} numbers compared by {layout.distance}, not "
            f"of {wanted.dim} by {wanted.distance}: it was changed; drop it there, or push to another name"
        )
    return layout


class TextMap:
    """A map from texts to counts in a database, divided into buckets by hash. kind: term, venue, fields or authors."""

    def __init__(self, database: VectorDatabase, name: str, kind: str, buckets: int) -> None:
        self._database, self._table, self._kind, self._buckets = database, record_table(name), kind, buckets

    def write(self, counts: Mapping[str, int]) -> None:
        """Replace the map; buckets that stay as they are are not written."""
        parts: list[dict[str, int]] = [{} for _ in range(self._buckets)]
        for text in sorted(counts):
            parts[self._bucket(text)][text] = counts[text]
        texts = {self._key(number): json.dumps(part, ensure_ascii=False) for number, part in enumerate(parts)}
        before = self._database.read_texts(self._table, list(texts))
        changed = [(key, text) for key, text in texts.items() if before.get(key) != text]
        for start in range(0, len(changed), WRITTEN):
            self._database.write_texts(self._table, dict(changed[start : start + WRITTEN]))

    def delete(self) -> None:
        """Delete the map."""
        self._database.delete_texts(self._table, [self._key(number) for number in range(self._buckets)])

    def read(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the counts of some texts; a text that is not there is left out."""
        wanted = set(texts)
        counts = self._read_buckets({self._bucket(text) for text in wanted})
        return {text: counts[text] for text in wanted & counts.keys()}

    def read_all(self) -> dict[str, int]:
        """Return the whole map."""
        return self._read_buckets(range(self._buckets))

    def _read_buckets(self, numbers: Iterable[int]) -> dict[str, int]:
        counts: dict[str, int] = {}
        keys = [self._key(number) for number in numbers]
        for text in self._database.read_texts(self._table, keys).values() if keys else ():
            counts |= json.loads(text)
        return counts

    def _key(self, number: int) -> str:
        return f"{self._kind}/{self._buckets}/{number}"

    def _bucket(self, text: str) -> int:
        return hash64(text, "surrogatepass") % self._buckets


def choose_buckets(entries: int) -> int:
    """Return a number of buckets, a power of two, so that each holds a few hundred texts."""
    return int(2 ** np.ceil(np.log2(max(1, entries / BUCKET_ENTRIES))))


def name_term(term: int) -> str:
    """Return the name of a term in the map."""
    return f"{term:x}"


def weigh_words(
    database: VectorDatabase, name: str, record: RemoteRecord, queries: Sequence[str]
) -> list[SparseVector]:
    """Return the lexical weights of queries, from how many papers have each of their words."""
    assert record.lexical is not None
    frequencies = TextMap(database, name, TERM_MAP, record.buckets[TERM_MAP])

    def find(terms: Terms) -> NDArray[np.uint32]:
        names = [name_term(term) for term in terms.tolist()]
        counts = frequencies.read(names)
        return np.array([counts.get(name, UNLISTED) for name in names], np.uint32)

    return weigh_queries(queries, record.lexical.documents, find)

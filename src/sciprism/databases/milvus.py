"""Milvus: a server, or a file of this machine that milvus-lite keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.databases.database import (
    HNSW_CONSTRUCTION,
    HNSW_LINKS,
    HNSW_SEARCH,
    PAGE,
    VECTOR,
    WORDS,
    FoundRow,
    Hashes,
    RowFilter,
    TableRows,
    TableSchema,
    explained,
    foreign_table,
    rank_by_words,
)
from sciprism.databases.milvus_connection import MAX_TEXT, TIMEOUT, MilvusConnection
from sciprism.databases.registry import databases
from sciprism.errors import InputError
from sciprism.index.term_weights import TERMS, SparseVector

METRICS = {"cosine": "COSINE", "dot": "IP", "euclidean": "L2"}
NO_TERM = {TERMS: 1.0}
"""The lexical weights of a text without words, since Milvus stores no empty vector; no query has this term."""
MAX_FIELDS = 4096
"""Values of a list that Milvus stores."""


@databases.register("milvus")
class MilvusDatabase(MilvusConnection):
    """Tables in a Milvus server (key: MILVUS_TOKEN, TLS: MILVUS_TLS), or in a `.db` file of milvus-lite."""

    @explained
    def describe(self, table: str) -> TableSchema | None:
        """Return the layout of a table of papers."""
        if not self._client.has_collection(table, timeout=TIMEOUT):
            return None
        fields = {field["name"]: field for field in self._client.describe_collection(table, timeout=TIMEOUT)["fields"]}
        wanted = {field.name for field in self._build_schema(2).fields}
        if missing := sorted(wanted - fields.keys()):
            raise foreign_table(self.address, table, f"lacks {', '.join(missing)}")
        index = self._client.describe_index(table, VECTOR, timeout=TIMEOUT) or {}
        distance = {value: name for name, value in METRICS.items()}.get(index.get("metric_type", ""))
        if distance is None:
            raise foreign_table(self.address, table, f"has no index of {VECTOR!r} that sciprism knows")
        dim = int(fields[VECTOR]["params"]["dim"])
        return TableSchema(dim, distance, index["index_type"] == "HNSW")  # type: ignore[arg-type]

    @explained
    def create(self, table: str, layout: TableSchema) -> None:
        """Create a table of papers."""
        indexes = self._client.prepare_index_params()
        indexes.add_index(VECTOR, **_build_index(layout))
        indexes.add_index(WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        schema = self._build_schema(layout.dim)
        self._client.create_collection(
            table, schema=schema, index_params=indexes, consistency_level="Strong", timeout=TIMEOUT
        )

    def _build_schema(self, dim: int) -> Any:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", DataType.INT64, is_primary=True)
        schema.add_field(VECTOR, DataType.FLOAT_VECTOR, dim=dim)
        schema.add_field(WORDS, DataType.SPARSE_FLOAT_VECTOR)
        for name in ("id", "title", "venue", "text_hash", "fingerprint", "paper"):
            schema.add_field(name, DataType.VARCHAR, max_length=MAX_TEXT)
        schema.add_field("year", DataType.INT64, nullable=True)
        schema.add_field("version", DataType.INT64)
        schema.add_field(
            "fields",
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_capacity=MAX_FIELDS,
            max_length=MAX_TEXT,
        )
        return schema

    @explained
    def set_approximate(self, table: str, layout: TableSchema) -> None:
        """Replace the index of vectors; searches wait for the new one."""
        self._client.release_collection(table)
        self._client.drop_index(table, VECTOR)
        indexes = self._client.prepare_index_params()
        indexes.add_index(VECTOR, **_build_index(layout))
        self._client.create_index(table, indexes)
        self._client.load_collection(table)

    @explained
    def upsert(self, table: str, rows: TableRows) -> None:
        """Store rows."""
        data = [
            {"key": int(key), VECTOR: vector, WORDS: _to_sparse(words), **columns}
            for key, vector, words, columns in zip(rows.keys, rows.vectors, rows.words, rows.columns, strict=True)
        ]
        self._client.upsert(table, data, timeout=TIMEOUT)

    @explained
    def delete(self, table: str, keys: Hashes) -> None:
        """Delete rows."""
        self._client.delete(table, ids=keys.tolist(), timeout=TIMEOUT)

    @explained
    def count(self, table: str) -> int:
        """Count the rows exactly."""
        self._client.load_collection(table)
        return int(self._client.query(table, output_fields=["count(*)"], timeout=TIMEOUT)[0]["count(*)"])

    def iterate_versions(self, table: str) -> Iterator[tuple[Hashes, Hashes]]:
        """Yield keys and versions of all rows in parts."""
        pages = self._open_pages(table)
        while rows := self._read_page(pages):
            keys, versions = (np.array([row[name] for row in rows], np.int64) for name in ("key", "version"))
            yield keys, versions

    @explained
    def _open_pages(self, table: str) -> Any:
        self._client.load_collection(table)
        return self._client.query_iterator(table, batch_size=PAGE, output_fields=["key", "version"], timeout=TIMEOUT)

    @explained
    def _read_page(self, pages: Any) -> Any:
        return pages.next()

    @explained
    def search_vectors(
        self, table: str, layout: TableSchema, queries: Floats, k: int, filter: RowFilter, *, exact: bool
    ) -> list[list[FoundRow]]:
        """Return the k best rows of each query; exact where the table has no approximate index."""
        if exact and layout.approximate:
            raise InputError(
                f"{self.address} has an approximate index, and Milvus searches by no other; "
                "search with --mode approximate, or push again without --approximate"
            )
        parameters: dict[str, Any] = {"metric_type": METRICS[layout.distance]}
        if layout.approximate:
            parameters["params"] = {"ef": max(HNSW_SEARCH, 2 * k)}
        euclidean = layout.distance == "euclidean"
        return [
            [FoundRow(key, -(max(score, 0.0) ** 0.5) if euclidean else score, paper) for key, score, paper in found]
            for found in self._search(table, [query.tolist() for query in queries], VECTOR, k, filter, parameters)
        ]

    @explained
    def search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> list[list[FoundRow]]:
        """Return the k rows of the highest inner product with each query."""

        def search(asked: list[SparseVector]) -> Iterator[list[FoundRow]]:
            vectors = [_to_sparse(query) for query in asked]
            found = self._search(table, vectors, WORDS, k, filter, {"metric_type": "IP"})
            return ([FoundRow(*row) for row in rows] for rows in found)

        return rank_by_words(queries, search)

    def _search(
        self, table: str, queries: list[Any], field: str, k: int, filter: RowFilter, parameters: dict[str, Any]
    ) -> Iterator[list[tuple[int, float, str]]]:
        if not queries:
            return
        self._client.load_collection(table)
        found = self._client.search(
            table,
            queries,
            filter=_to_expression(filter),
            limit=k,
            output_fields=["key", "paper"],
            search_params=parameters,
            anns_field=field,
            timeout=TIMEOUT,
        )
        for hits in found:
            yield [(int(hit["entity"]["key"]), float(hit["distance"]), hit["entity"]["paper"]) for hit in hits]


def _build_index(layout: TableSchema) -> dict[str, Any]:
    metric = METRICS[layout.distance]
    if not layout.approximate:
        return {"index_type": "FLAT", "metric_type": metric}
    parameters = {"M": HNSW_LINKS, "efConstruction": HNSW_CONSTRUCTION}
    return {"index_type": "HNSW", "metric_type": metric, "params": parameters}


def _to_sparse(vector: SparseVector) -> dict[int, float]:
    return dict(zip(vector.terms.tolist(), vector.weights.tolist(), strict=True)) or NO_TERM


def _to_expression(filter: RowFilter) -> str:
    """Return the filter in Milvus' language, "" for any row."""
    parts = []
    if filter.year_from is not None:
        parts.append(f"year >= {filter.year_from}")
    if filter.year_to is not None:
        parts.append(f"year <= {filter.year_to}")
    if filter.venues is not None:
        parts.append(f"venue in {_quote(filter.venues)}")
    if filter.fields is not None:
        parts.append(f"array_contains_any(fields, {_quote(filter.fields)})")
    return " and ".join(parts)


def _quote(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)

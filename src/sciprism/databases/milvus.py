"""Milvus: a server, or a file of this machine that milvus-lite keeps."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.databases.address import Address, databases, read_credentials
from sciprism.databases.database import (
    CONTINUES,
    HNSW_CONSTRUCTION,
    HNSW_LINKS,
    HNSW_SEARCH,
    MAX_FIELDS,
    PAGE,
    VECTOR,
    WORDS,
    FoundRow,
    Hashes,
    RowFilter,
    TableRows,
    TableSchema,
    VectorDatabase,
    explained,
    foreign_table,
    shorten_error,
)
from sciprism.databases.term_weights import TERMS, SparseVector
from sciprism.errors import InputError, MissingExtraError, RunFailedError, import_extra
from sciprism.files import explain_write_errors

if TYPE_CHECKING:
    from pymilvus import MilvusClient

PORT = 19530
UNUSED = "unused"  # the vector that Milvus asks of each table
TIMEOUT = 60.0  # seconds that a server may take for one request
MAX_TEXT = 65_535  # bytes of a text that Milvus stores
NO_PERMISSION = ("auth check failure", "unauthenticated", "permission deny", "invalid token", "privilege")
METRICS = {"cosine": "COSINE", "dot": "IP", "euclidean": "L2"}
NO_TERM = {TERMS: 1.0}
"""The lexical weights of a text without words, since Milvus stores no empty vector; no query has this term."""
MAX_ROWS = 16_384  # papers that a search of Milvus returns


@databases.register("milvus")
class _MilvusDatabase(VectorDatabase):
    """Tables in a Milvus server (key: MILVUS_TOKEN, TLS: MILVUS_TLS), or in a `.db` file of milvus-lite."""

    max_rows = MAX_ROWS

    def __init__(self, address: Address) -> None:
        with import_extra("milvus", "a Milvus database"):
            from pymilvus.exceptions import MilvusException
        self.address = address
        self.failures: tuple[type[Exception], ...] = (MilvusException, OSError)
        for name in ("pymilvus", "milvus_lite", "grpc._server"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # they log what they raise, or work around
        self._client = self._connect()

    @explained
    def _connect(self) -> MilvusClient:
        from pymilvus import MilvusClient

        if (path := self.address.path) is not None:
            if path.suffix != ".db":
                raise InputError(f"{self.address}: the file of milvus-lite must end with .db, such as papers.db/NAME")
            if find_spec("milvus_lite") is None:
                raise MissingExtraError("milvus", "a Milvus database in a file")
            with explain_write_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            return MilvusClient(str(path), dedicated=True)
        how = read_credentials(self.address.host, "MILVUS_TOKEN", "MILVUS_TLS")
        more: dict[str, Any] = {"server_pem_path": how.certificates} if how.certificates else {}
        return MilvusClient(self.address.url(how.tls, PORT), token=how.key, timeout=TIMEOUT, dedicated=True, **more)

    def explain(self, error: Exception) -> InputError | RunFailedError:
        address = self.address
        details = getattr(error.__cause__, "details", str)  # what a server says that refuses a connection
        words = shorten_error(details() or getattr(error, "message", "") or error)
        low = words.lower()
        if any(phrase in low for phrase in NO_PERMISSION):
            return InputError(f"{address} refuses the key ({words}); set MILVUS_TOKEN to a valid KEY or USER:PASSWORD")
        if "no space left" in low or "disk quota" in low or "disk full" in low:
            return RunFailedError(f"{address}: the disk is full ({words}); {CONTINUES}")
        if address.path is not None and "open local milvus failed" in low:
            return InputError(f"{address} cannot be opened: another process uses it, or the file is damaged")
        if any(phrase in low for phrase in ("connecting", "to connect", "unavailable", "deadline", "timeout")):
            return RunFailedError(
                f"{address} cannot be reached ({words}); see that the server runs, and that MILVUS_TLS says "
                f"whether it expects TLS; {CONTINUES}"
            )
        return RunFailedError(f"{address} failed: {words}; {CONTINUES}")

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self.address.path is not None:
            from milvus_lite.server_manager import server_manager_instance  # type: ignore[import-untyped]

            server_manager_instance.release_server(str(self.address.path))

    @explained
    def read_texts(self, table: str, keys: Sequence[str]) -> dict[str, str]:
        if not _is_whole(self._client, table):
            return {}
        self._client.load_collection(table)
        rows = self._client.get(table, list(keys), output_fields=["key", "text"], timeout=TIMEOUT)
        return {row["key"]: row["text"] for row in rows}

    @explained
    def write_texts(self, table: str, texts: Mapping[str, str]) -> None:
        """Store texts by key."""
        from pymilvus import DataType

        if not _is_whole(self._client, table):
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=100)
            schema.add_field("text", DataType.VARCHAR, max_length=MAX_TEXT)
            schema.add_field(UNUSED, DataType.FLOAT_VECTOR, dim=2)
            indexes = self._client.prepare_index_params()
            indexes.add_index(UNUSED, index_type="FLAT", metric_type="L2")
            _create(self._client, table, schema, indexes)
        rows = [{"key": key, "text": text, UNUSED: [0.0, 0.0]} for key, text in texts.items()]
        self._client.upsert(table, rows, timeout=TIMEOUT)

    @explained
    def delete_texts(self, table: str, keys: Sequence[str]) -> None:
        self._client.delete(table, ids=list(keys), timeout=TIMEOUT)

    @explained
    def describe(self, table: str) -> TableSchema | None:
        if not self._client.has_collection(table, timeout=TIMEOUT):
            return None
        fields = {field["name"]: field for field in self._client.describe_collection(table, timeout=TIMEOUT)["fields"]}
        wanted = {field.name for field in _build_schema(self._client, 2).fields}
        if missing := sorted(wanted - fields.keys()):
            raise foreign_table(self.address, table, f"lacks {', '.join(missing)}")
        index = self._client.describe_index(table, VECTOR, timeout=TIMEOUT) or {}
        whole = index and self._client.describe_index(table, WORDS, timeout=TIMEOUT)
        if not whole and _is_empty(self._client, table):
            return None  # `create` makes it again
        distance = {value: name for name, value in METRICS.items()}.get(index.get("metric_type", ""))
        if distance is None:
            raise foreign_table(self.address, table, f"has no index of {VECTOR!r} that sciprism knows")
        dim = int(fields[VECTOR]["params"]["dim"])
        return TableSchema(dim, distance, index["index_type"] == "HNSW")  # type: ignore[arg-type]

    @explained
    def create(self, table: str, layout: TableSchema) -> None:
        indexes = self._client.prepare_index_params()
        indexes.add_index(VECTOR, **_build_index(layout))
        indexes.add_index(WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        _create(self._client, table, _build_schema(self._client, layout.dim), indexes)

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
        data = [
            {"key": int(key), VECTOR: vector, WORDS: _to_sparse(words), **columns}
            for key, vector, words, columns in zip(rows.keys, rows.vectors, rows.words, rows.columns, strict=True)
        ]
        self._client.upsert(table, data, timeout=TIMEOUT)

    @explained
    def delete(self, table: str, keys: Hashes) -> None:
        self._client.delete(table, ids=keys.tolist(), timeout=TIMEOUT)

    @explained
    def count(self, table: str) -> int:
        self._client.load_collection(table)
        return int(self._client.query(table, output_fields=["count(*)"], timeout=TIMEOUT)[0]["count(*)"])

    def iterate_versions(self, table: str) -> Iterator[tuple[Hashes, Hashes]]:
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
        rankings = self._search(table, [query.tolist() for query in queries], VECTOR, k, filter, parameters)
        if layout.distance == "euclidean":
            return [[replace(row, score=-(max(row.score, 0.0) ** 0.5)) for row in rows] for rows in rankings]
        return list(rankings)

    def _search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> Iterator[list[FoundRow]]:
        return self._search(table, [_to_sparse(query) for query in queries], WORDS, k, filter, {"metric_type": "IP"})

    def _search(
        self, table: str, queries: list[Any], field: str, k: int, filter: RowFilter, parameters: dict[str, Any]
    ) -> Iterator[list[FoundRow]]:
        if not queries:
            return
        self._client.load_collection(table)
        rankings = self._client.search(
            table,
            queries,
            filter=_to_expression(filter),
            limit=k,
            output_fields=["key", "paper"],
            search_params=parameters,
            anns_field=field,
            timeout=TIMEOUT,
        )
        for hits in rankings:
            yield [FoundRow(int(hit["entity"]["key"]), float(hit["distance"]), hit["entity"]["paper"]) for hit in hits]


def _is_whole(client: MilvusClient, table: str) -> bool:
    """Return whether a table of texts exists with its index, which Milvus creates after it."""
    return client.has_collection(table, timeout=TIMEOUT) and bool(client.describe_index(table, UNUSED, timeout=TIMEOUT))


def _is_empty(client: MilvusClient, table: str) -> bool:
    return not client.get_collection_stats(table, timeout=TIMEOUT)["row_count"]


def _create(client: MilvusClient, table: str, schema: Any, indexes: Any) -> None:
    """Create a table; what a killed process left of it goes first."""
    if client.has_collection(table, timeout=TIMEOUT) and _is_empty(client, table):
        client.drop_collection(table, timeout=TIMEOUT)
    client.create_collection(table, schema=schema, index_params=indexes, consistency_level="Strong", timeout=TIMEOUT)


def _build_schema(client: MilvusClient, dim: int) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field(VECTOR, DataType.FLOAT_VECTOR, dim=dim)
    schema.add_field(WORDS, DataType.SPARSE_FLOAT_VECTOR)
    for name in ("id", "title", "venue", "text_hash", "fingerprint", "paper"):
        schema.add_field(name, DataType.VARCHAR, max_length=MAX_TEXT)
    schema.add_field("year", DataType.INT64, nullable=True)
    schema.add_field("version", DataType.INT64)
    for name in ("fields", "authors"):
        schema.add_field(
            name, DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=MAX_FIELDS, max_length=MAX_TEXT
        )
    return schema


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
    for column, names in (("fields", filter.fields), ("authors", filter.authors)):
        if names is not None:
            parts.append(f"array_contains_any({column}, {_quote(names)})")
    return " and ".join(parts)


def _quote(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)

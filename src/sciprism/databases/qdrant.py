"""Qdrant: a server by its REST interface, or a folder that the client keeps itself (for small collections)."""

from __future__ import annotations

import sqlite3
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.databases.address import Address, databases, read_credentials
from sciprism.databases.database import (
    CONTINUES,
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
    VectorDatabase,
    explained,
    foreign_table,
    shorten_error,
)
from sciprism.databases.term_weights import SparseVector
from sciprism.errors import InputError, RunFailedError, import_extra
from sciprism.files import explain_write_errors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PORT = 6333
TIMEOUT = 60  # seconds that a server may take for one request
DISTANCES = {"cosine": "Cosine", "dot": "Dot", "euclidean": "Euclid"}
FILTERED = {"year": "integer", "venue": "keyword", "fields": "keyword", "authors": "keyword"}
"""Columns that a search may be filtered by, which a server indexes."""


def _number_key(key: str) -> str:
    return str(uuid.UUID(bytes=blake2b(key.encode(), digest_size=16).digest()))


@databases.register("qdrant")
class _QdrantDatabase(VectorDatabase):
    """Tables in a Qdrant server (key: QDRANT_API_KEY, TLS: QDRANT_TLS), or in a folder."""

    def __init__(self, address: Address) -> None:
        with import_extra("qdrant", "a Qdrant database"):
            from qdrant_client.http.exceptions import ApiException
        self.address = address
        self.failures: tuple[type[Exception], ...] = (ApiException, OSError, sqlite3.Error, ValueError, RuntimeError)
        self._client = self._connect()

    @explained
    def _connect(self) -> QdrantClient:
        from qdrant_client import QdrantClient

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of local mode and of keys without TLS: the page on databases names both
            if (path := self.address.path) is not None:
                with explain_write_errors(path):
                    return QdrantClient(path=str(path))
            how = read_credentials(self.address.host, "QDRANT_API_KEY", "QDRANT_TLS")
            more: dict[str, Any] = {"verify": how.certificates} if how.certificates else {}
            return QdrantClient(
                url=self.address.url(how.tls, PORT),
                api_key=how.key or None,
                timeout=TIMEOUT,
                check_compatibility=False,
                **more,
            )

    def explain(self, error: Exception) -> InputError | RunFailedError:
        address = self.address
        words, status = shorten_error(error), getattr(error, "status_code", None)
        content = getattr(error, "content", b"")
        said = shorten_error(content.decode("utf-8", "replace")) if content else words
        if status in (401, 403):
            return InputError(
                f"{address} refuses the key (status {status}); set QDRANT_API_KEY to a valid one with write access"
            )
        if status == 507 or "no space left" in said.lower() or "disk is full" in said.lower():
            return RunFailedError(f"{address}: the disk is full ({said}); {CONTINUES}")
        if "already accessed by another instance" in words:
            return InputError(f"{address} is in use by another process; wait until it ends, or run a server")
        if address.path is None and status is None and not isinstance(error, ValueError | RuntimeError):
            return RunFailedError(
                f"{address} cannot be reached ({words}); see that the server runs, and that QDRANT_TLS says "
                f"whether it expects TLS; {CONTINUES}"
            )
        return RunFailedError(f"{address} failed{f' with status {status}' if status else ''}: {said}; {CONTINUES}")

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @explained
    def read_texts(self, table: str, keys: Sequence[str]) -> dict[str, str]:
        if not self._client.collection_exists(table):
            return {}
        points = self._client.retrieve(table, [_number_key(key) for key in keys], with_payload=True)
        return {point.payload["key"]: point.payload["text"] for point in points if point.payload}

    @explained
    def write_texts(self, table: str, texts: Mapping[str, str]) -> None:
        from qdrant_client import models

        if not self._client.collection_exists(table):
            self._client.create_collection(table, vectors_config={})
        points = [
            models.PointStruct(id=_number_key(key), vector={}, payload={"key": key, "text": text})
            for key, text in texts.items()
        ]
        self._client.upsert(table, points, wait=True)

    @explained
    def delete_texts(self, table: str, keys: Sequence[str]) -> None:
        from qdrant_client import models

        self._client.delete(table, models.PointIdsList(points=[_number_key(key) for key in keys]), wait=True)

    @explained
    def describe(self, table: str) -> TableSchema | None:
        if not self._client.collection_exists(table):
            return None
        parameters = self._client.get_collection(table).config.params
        vectors = parameters.vectors
        dense = vectors.get(VECTOR) if isinstance(vectors, dict) else None
        if dense is None or WORDS not in (parameters.sparse_vectors or {}):
            raise foreign_table(self.address, table, f"has no vectors {VECTOR!r} and {WORDS!r}")
        distance = {value: name for name, value in DISTANCES.items()}.get(str(dense.distance.value))
        if distance is None:
            raise foreign_table(self.address, table, f"compares vectors by {dense.distance.value}")
        approximate = self.address.path is None and dense.hnsw_config is not None and bool(dense.hnsw_config.m)
        return TableSchema(int(dense.size), distance, approximate)  # type: ignore[arg-type]

    @explained
    def create(self, table: str, layout: TableSchema) -> None:
        """Create a table of papers, with indexes of the columns that filters read."""
        from qdrant_client import models

        vectors = models.VectorParams(
            size=layout.dim, distance=models.Distance(DISTANCES[layout.distance]), hnsw_config=_build_graph(layout)
        )
        self._client.create_collection(
            table, vectors_config={VECTOR: vectors}, sparse_vectors_config={WORDS: models.SparseVectorParams()}
        )
        for column, kind in FILTERED.items() if self.address.path is None else ():
            self._client.create_payload_index(table, column, models.PayloadSchemaType(kind), wait=True)

    @explained
    def set_approximate(self, table: str, layout: TableSchema) -> None:
        """Build or drop the graph; a server does so in the background."""
        from qdrant_client import models

        if self.address.path is None:
            change = models.VectorParamsDiff(hnsw_config=_build_graph(layout))
            self._client.update_collection(table, vectors_config={VECTOR: change})

    @explained
    def upsert(self, table: str, rows: TableRows) -> None:
        from qdrant_client import models

        points = [
            models.PointStruct(
                id=int(key),
                vector={VECTOR: vector.tolist()} | ({WORDS: _to_sparse(words)} if len(words.terms) else {}),
                payload=dict(columns),
            )
            for key, vector, words, columns in zip(
                rows.keys.view(np.uint64), rows.vectors, rows.words, rows.columns, strict=True
            )
        ]
        self._client.upsert(table, points, wait=True)

    @explained
    def delete(self, table: str, keys: Hashes) -> None:
        from qdrant_client import models

        self._client.delete(table, models.PointIdsList(points=keys.view(np.uint64).tolist()), wait=True)

    @explained
    def count(self, table: str) -> int:
        return int(self._client.count(table, exact=True).count)

    def iterate_versions(self, table: str) -> Iterator[tuple[Hashes, Hashes]]:
        offset: Any = None
        while True:
            keys, versions, offset = self._read_versions(table, offset)
            yield keys, versions
            if offset is None:
                return

    @explained
    def _read_versions(self, table: str, offset: Any) -> tuple[Hashes, Hashes, Any]:
        points, offset = self._client.scroll(table, limit=PAGE, offset=offset, with_payload=["version"])
        keys = np.array([point.id for point in points], np.uint64).view(np.int64)
        versions = [(point.payload or {}).get("version", 0) for point in points]
        return keys, np.array(versions, np.int64), offset

    @explained
    def search_vectors(
        self, table: str, layout: TableSchema, queries: Floats, k: int, filter: RowFilter, *, exact: bool
    ) -> list[list[FoundRow]]:
        from qdrant_client import models

        graph = None if exact else max(HNSW_SEARCH, 2 * k)
        parameters = models.SearchParams(exact=exact, hnsw_ef=graph) if self.address.path is None else None
        responses = self._query(table, [query.tolist() for query in queries], VECTOR, k, filter, parameters)
        sign = -1 if layout.distance == "euclidean" else 1
        return [[_to_row(point, sign) for point in response.points] for response in responses]

    def _search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> Iterator[list[FoundRow]]:
        responses = self._query(table, [_to_sparse(query) for query in queries], WORDS, k, filter, None)
        return ([_to_row(point, 1) for point in response.points] for response in responses)

    def _query(
        self, table: str, queries: Sequence[Any], vector: str, k: int, filter: RowFilter, parameters: Any
    ) -> Sequence[Any]:
        from qdrant_client import models

        requests = [
            models.QueryRequest(
                query=query, using=vector, limit=k, filter=_to_filter(filter), params=parameters, with_payload=["paper"]
            )
            for query in queries
        ]
        return self._client.query_batch_points(table, requests) if requests else []


def _build_graph(layout: TableSchema) -> Any:
    """Return the settings of the graph; without links no graph is built."""
    from qdrant_client import models

    return models.HnswConfigDiff(m=HNSW_LINKS if layout.approximate else 0, ef_construct=HNSW_CONSTRUCTION)


def _to_sparse(vector: SparseVector) -> Any:
    from qdrant_client import models

    return models.SparseVector(indices=vector.terms.tolist(), values=vector.weights.tolist())


def _to_row(point: Any, sign: int) -> FoundRow:
    return FoundRow(int(point.id), sign * float(point.score), point.payload["paper"])


def _to_filter(filter: RowFilter) -> Any:
    """Return the filter in Qdrant's terms, None for any row."""
    from qdrant_client import models

    must: list[Any] = []
    if filter.year_from is not None or filter.year_to is not None:
        years = models.Range(gte=filter.year_from, lte=filter.year_to)
        must.append(models.FieldCondition(key="year", range=years))
    for column, values in (("venue", filter.venues), ("fields", filter.fields), ("authors", filter.authors)):
        if values is not None:
            must.append(models.FieldCondition(key=column, match=models.MatchAny(any=list(values))))
    return models.Filter(must=must) if must else None

"""Qdrant: a server by its REST interface, or a folder that the client keeps itself (for small collections)."""

from __future__ import annotations

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
from sciprism.databases.qdrant_connection import QdrantConnection
from sciprism.databases.registry import databases
from sciprism.index.term_weights import SparseVector

DISTANCES = {"cosine": "Cosine", "dot": "Dot", "euclidean": "Euclid"}
FILTERED = {"year": "integer", "venue": "keyword", "fields": "keyword"}
"""Columns that a search may be filtered by, which a server indexes."""


@databases.register("qdrant")
class QdrantDatabase(QdrantConnection):
    """Tables in a Qdrant server (key: QDRANT_API_KEY, TLS: QDRANT_TLS), or in a folder."""

    @explained
    def describe(self, table: str) -> TableSchema | None:
        """Return the layout of a table of papers."""
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
            size=layout.dim,
            distance=models.Distance(DISTANCES[layout.distance]),
            hnsw_config=_build_graph(layout),
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
        """Store rows."""
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
        """Delete rows."""
        from qdrant_client import models

        self._client.delete(table, models.PointIdsList(points=keys.view(np.uint64).tolist()), wait=True)

    @explained
    def count(self, table: str) -> int:
        """Count the rows exactly."""
        return int(self._client.count(table, exact=True).count)

    def iterate_versions(self, table: str) -> Iterator[tuple[Hashes, Hashes]]:
        """Yield keys and versions of all rows in parts."""
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
        """Return the k best rows of each query."""
        from qdrant_client import models

        graph = None if exact else max(HNSW_SEARCH, 2 * k)
        parameters = models.SearchParams(exact=exact, hnsw_ef=graph) if self.address.path is None else None
        found = self._query(table, [query.tolist() for query in queries], VECTOR, k, filter, parameters)
        sign = -1 if layout.distance == "euclidean" else 1
        return [[_to_row(point, sign) for point in response.points] for response in found]

    @explained
    def search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> list[list[FoundRow]]:
        """Return the k rows of the highest inner product with each query."""

        def search(asked: list[SparseVector]) -> Iterator[list[FoundRow]]:
            found = self._query(table, [_to_sparse(query) for query in asked], WORDS, k, filter, None)
            return ([_to_row(point, 1) for point in response.points] for response in found)

        return rank_by_words(queries, search)

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
    for column, values in (("venue", filter.venues), ("fields", filter.fields)):
        if values is not None:
            must.append(models.FieldCondition(key=column, match=models.MatchAny(any=list(values))))
    return models.Filter(must=must) if must else None

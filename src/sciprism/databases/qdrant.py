"""Qdrant: a server by its REST interface, or a folder that the client keeps itself (for small collections)."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from sciprism.databases import database
from sciprism.errors import InputError

PAGE = 1 << 14  # rows whose versions are read at once
MAX_NAMES = 1 << 24  # distinct venues, fields or authors
DISTANCES = {"cosine": "Cosine", "dot": "Dot", "euclidean": "Euclid"}
INDEXES = {"year": "integer", "venue": "keyword", "fields": "keyword", "authors": "keyword"}


class _Qdrant(database.VectorDatabase):
    """A collection of Qdrant, whose metadata has the record. QDRANT_API_KEY; QDRANT_TLS: 1, 0 or a PEM file."""

    failures = (ApiException, OSError, sqlite3.Error, ValueError, RuntimeError)
    advice: ClassVar[dict[str, str]] = {
        "UnexpectedResponse.* 40[13] ": "the server refuses the key; set QDRANT_API_KEY to one with write access",
        "ResponseHandling|FileNotFound": "the server cannot be reached; see that it runs, and that QDRANT_TLS is right",
        "already accessed by another instance": "another process uses this folder; wait until it ends, or run a server",
    }

    def __init__(self, address: database.Address) -> None:
        self.address, self._name = address, address["name"]
        with self.explained(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of keys without TLS, and local mode: the page on databases names both
            place = _read_access(address) if address["host"] else {"path": address["place"]}
            self._client = QdrantClient(**place, timeout=60, check_compatibility=False)

    def close(self) -> None:
        self._client.close()

    def read_text(self) -> str | None:
        if not self._client.collection_exists(self._name):
            return None
        return str((self._client.get_collection(self._name).config.metadata or {}).get("sciprism", ""))

    def write(self, record: database.RemoteRecord) -> None:
        metadata = {"sciprism": record.model_dump_json()}
        if self._client.collection_exists(self._name):
            self._client.update_collection(self._name, metadata=metadata)
            return
        distance = models.Distance(DISTANCES[record.encoder.distance])
        sizes = {record.column(space): each.dim for space, each in record.spaces.items()}
        vectors = {column: models.VectorParams(size=size, distance=distance) for column, size in sizes.items()}
        graph = models.HnswConfigDiff(m=0)  # none is built while papers arrive
        self._client.create_collection(self._name, vectors_config=vectors, hnsw_config=graph, metadata=metadata)

    def index(self, record: database.RemoteRecord) -> None:
        words = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
        self._client.create_payload_index(self._name, "text", words)
        for column, kind in (
            INDEXES.items() if self.address["host"] else ()
        ):  # the client's own folder has none of these
            self._client.create_payload_index(self._name, column, models.PayloadSchemaType(kind))
        links = database.HNSW_LINKS if record.approximate else 0  # without links no graph is built
        graph = models.HnswConfigDiff(m=links, ef_construct=database.HNSW_CONSTRUCTION)
        change = {record.column(space): models.VectorParamsDiff(hnsw_config=graph) for space in record.spaces}
        self._client.update_collection(self._name, vectors_config=change)

    def upsert(self, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        points = []
        for row in rows:
            payload = {name: value for name, value in row.items() if name not in ("key", *columns)}
            vectors = {name: row[name] for name in columns}
            points.append(models.PointStruct(id=row["key"] % 2**64, vector=vectors, payload=payload))
        self._client.upsert(self._name, points, wait=True)

    def delete(self, keys: Sequence[int]) -> None:
        self._client.delete(self._name, models.PointIdsList(points=[key % 2**64 for key in keys]), wait=True)

    def read_versions(self) -> dict[int, int]:
        points, offset = self._client.scroll(self._name, limit=PAGE, with_payload=["version"])
        while offset is not None:
            more, offset = self._client.scroll(self._name, limit=PAGE, with_payload=["version"], offset=offset)
            points += more
        keys = np.array([point.id for point in points], np.uint64).view(np.int64).tolist()
        return {key: (point.payload or {})["version"] for key, point in zip(keys, points, strict=True)}

    def count(self, conditions: database.Conditions) -> int:
        return int(self._client.count(self._name, count_filter=_to_filter(conditions), exact=True).count)

    def count_names(self, column: str) -> dict[str, int]:
        hits = self._client.facet(self._name, column, limit=MAX_NAMES, exact=True).hits
        return {str(hit.value): hit.count for hit in hits}

    def search(self, query: database.Query) -> list[tuple[float, str]]:
        effort = models.SearchParams(exact=query.exact, hnsw_ef=max(database.HNSW_SEARCH, 2 * query.k))
        passes = {"filter": _to_filter(query.conditions)}
        words = {"query": models.TextQuery(text=query.text), "using": "text"} | passes
        nearest = {"query": query.vector, "using": query.column, "params": self.address["host"] and effort} | passes
        asked: dict[str, Any] = words if query.mode == "words" else nearest
        request = models.QueryRequest(limit=query.k, with_payload=["paper"], **asked)
        [found] = self._client.query_batch_points(self._name, [request])
        sign = -1 if query.distance == "euclidean" and query.mode == "vectors" else 1
        return [(sign * float(point.score), (point.payload or {})["paper"]) for point in found.points]


def _to_filter(conditions: database.Conditions) -> models.Filter | None:
    """Return the filter in Qdrant's terms, None for any row."""
    years = models.Range(gte=conditions.get("year_from"), lte=conditions.get("year_to"))
    names = [(name, value) for name, value in conditions.items() if not name.startswith("year")]
    must = [models.FieldCondition(key=name, match=models.MatchAny(any=values)) for name, values in names]
    must += [models.FieldCondition(key="year", range=years)] * (len(names) < len(conditions))
    return models.Filter(must=must) if must else None


def _read_access(address: database.Address) -> dict[str, Any]:
    """Return how a client reaches a server: its address, key and certificates."""
    key = os.environ.get("QDRANT_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError("the environment's QDRANT_API_KEY holds characters that no key has; copy the key again")
    remote = address["host"] not in ("localhost", "127.0.0.1")
    tls = os.environ.get("QDRANT_TLS", "").strip() or ("1" if key and remote else "0")
    url = f"http{'s' * (tls != '0')}://{address['host']}:{address['port'] or 6333}"
    return {"url": url, "api_key": key or None, "verify": tls if tls not in ("0", "1") else True}


connect = _Qdrant

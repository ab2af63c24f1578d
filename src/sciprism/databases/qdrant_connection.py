"""The connection to Qdrant: where it is, what its errors mean, and the texts that are kept next to papers."""

from __future__ import annotations

import sqlite3
import uuid
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from sciprism.databases.address import Address, read_credentials
from sciprism.databases.database import (
    CONTINUES,
    explained,
    shorten_error,
)
from sciprism.errors import InputError, MissingExtraError, RunFailedError
from sciprism.files import explain_write_errors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PORT = 6333
TIMEOUT = 60
"""Seconds that a server may take for one request."""


class QdrantConnection:
    """A connection, its errors in words, and the small texts that are kept next to papers."""

    def __init__(self, address: Address) -> None:
        try:
            from qdrant_client.http.exceptions import ApiException
        except ImportError:
            raise MissingExtraError("qdrant", "a Qdrant database") from None
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
            host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
            how = read_credentials(self.address.host, "QDRANT_API_KEY", "QDRANT_TLS")
            url = f"{'https' if how.tls else 'http'}://{host}:{self.address.port or PORT}"
            more: dict[str, Any] = {"verify": how.certificates} if how.certificates else {}
            return QdrantClient(url=url, api_key=how.key or None, timeout=TIMEOUT, check_compatibility=False, **more)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @explained
    def read_texts(self, table: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the texts of some keys."""
        if not self._client.collection_exists(table):
            return {}
        found = self._client.retrieve(table, [_number_key(key) for key in keys], with_payload=True)
        return {point.payload["key"]: point.payload["text"] for point in found if point.payload}

    @explained
    def write_texts(self, table: str, texts: Mapping[str, str]) -> None:
        """Store texts by key."""
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
        """Delete texts."""
        from qdrant_client import models

        self._client.delete(table, models.PointIdsList(points=[_number_key(key) for key in keys]), wait=True)

    def explain(self, error: Exception) -> InputError | RunFailedError:
        """Return the message of an error of the client."""
        words, status = shorten_error(error), getattr(error, "status_code", None)
        content = getattr(error, "content", b"")
        said = shorten_error(content.decode("utf-8", "replace")) if content else words
        if status in (401, 403):
            return InputError(
                f"{self.address} refuses the key (status {status}); set QDRANT_API_KEY to a valid one with write access"
            )
        if status == 507 or "no space left" in said.lower() or "disk is full" in said.lower():
            return RunFailedError(f"{self.address}: the disk is full ({said}); {CONTINUES}")
        if "already accessed by another instance" in words:
            return InputError(f"{self.address} is in use by another process; wait until it ends, or run a server")
        if self.address.path is None and status is None and not isinstance(error, ValueError | RuntimeError):
            return RunFailedError(
                f"{self.address} cannot be reached ({words}); see that the server runs, and that QDRANT_TLS says "
                f"whether it expects TLS; {CONTINUES}"
            )
        return RunFailedError(f"{self.address} failed{f' with status {status}' if status else ''}: {said}; {CONTINUES}")


def _number_key(key: str) -> str:
    """Return the id of a text's point."""
    return str(uuid.UUID(bytes=blake2b(key.encode(), digest_size=16).digest()))

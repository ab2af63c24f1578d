"""The connection to Milvus: where it is, what its errors mean, and the texts that are kept next to papers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
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
    from pymilvus import MilvusClient

PORT = 19530
TIMEOUT = 60.0
"""Seconds that a server may take for one request."""
MAX_TEXT = 65_535
"""Bytes of a text that Milvus stores."""
NO_PERMISSION = ("auth check failure", "unauthenticated", "permission deny", "invalid token", "privilege")


class MilvusConnection:
    """A connection, its errors in words, and the small texts that are kept next to papers."""

    def __init__(self, address: Address) -> None:
        try:
            from pymilvus.exceptions import MilvusException
        except ImportError:
            raise MissingExtraError("milvus", "a Milvus database") from None
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
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        more: dict[str, Any] = {"server_pem_path": how.certificates} if how.certificates else {}
        uri = f"{'https' if how.tls else 'http'}://{host}:{self.address.port or PORT}"
        return MilvusClient(uri, token=how.key, timeout=TIMEOUT, dedicated=True, **more)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self.address.path is not None:
            from milvus_lite.server_manager import server_manager_instance  # type: ignore[import-untyped]

            server_manager_instance.release_server(str(self.address.path))

    @explained
    def read_texts(self, table: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the texts of some keys."""
        if not self._client.has_collection(table, timeout=TIMEOUT):
            return {}
        self._client.load_collection(table)
        found = self._client.get(table, list(keys), output_fields=["key", "text"], timeout=TIMEOUT)
        return {row["key"]: row["text"] for row in found}

    @explained
    def write_texts(self, table: str, texts: Mapping[str, str]) -> None:
        """Store texts by key; Milvus asks each table for a vector, which is not used here."""
        from pymilvus import DataType

        if not self._client.has_collection(table, timeout=TIMEOUT):
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=100)
            schema.add_field("text", DataType.VARCHAR, max_length=MAX_TEXT)
            schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
            indexes = self._client.prepare_index_params()
            indexes.add_index("unused", index_type="FLAT", metric_type="L2")
            self._client.create_collection(
                table, schema=schema, index_params=indexes, consistency_level="Strong", timeout=TIMEOUT
            )
        rows = [{"key": key, "text": text, "unused": [0.0, 0.0]} for key, text in texts.items()]
        self._client.upsert(table, rows, timeout=TIMEOUT)

    @explained
    def delete_texts(self, table: str, keys: Sequence[str]) -> None:
        """Delete texts."""
        self._client.delete(table, ids=list(keys), timeout=TIMEOUT)

    def explain(self, error: Exception) -> InputError | RunFailedError:
        """Return the message of an error of the client."""
        details = getattr(error.__cause__, "details", str)  # what a server says that refuses a connection
        words = shorten_error(details() or getattr(error, "message", "") or error)
        low = words.lower()
        if any(each in low for each in NO_PERMISSION):
            return InputError(
                f"{self.address} refuses the key ({words}); set MILVUS_TOKEN to a valid KEY or USER:PASSWORD"
            )
        if "no space left" in low or "disk quota" in low or "disk full" in low:
            return RunFailedError(f"{self.address}: the disk is full ({words}); {CONTINUES}")
        if self.address.path is not None and "open local milvus failed" in low:
            return InputError(f"{self.address} cannot be opened: another process uses it, or the file is damaged")
        if any(each in low for each in ("connecting", "to connect", "unavailable", "deadline", "timeout")):
            return RunFailedError(
                f"{self.address} cannot be reached ({words}); see that the server runs, and that MILVUS_TLS says "
                f"whether it expects TLS; {CONTINUES}"
            )
        return RunFailedError(f"{self.address} failed: {words}; {CONTINUES}")

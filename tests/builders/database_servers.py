"""Databases behind their network protocols, without a server of their makers: what the clients send is what counts.

Milvus' protocol is that of milvus-lite, which has a server. Qdrant's REST interface is answered by the client's local
mode; requests and answers are checked against the models of the interface.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any


@contextmanager
def serve_milvus(folder: Path) -> Iterator[str]:
    """Yield the address of a server that keeps its tables in a folder."""
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    server, database, port = start_server_in_thread(str(folder))
    try:
        yield f"milvus://127.0.0.1:{port}"
    finally:
        server.stop(grace=2).wait()
        database.close()


@contextmanager
def serve_qdrant(folder: Path) -> Iterator[str]:
    """Yield the address of a server that keeps its tables in memory."""
    from qdrant_client.local.qdrant_local import QdrantLocal

    class Handler(_QdrantHandler):
        local, lock = QdrantLocal(":memory:", force_disable_check_same_thread=True), Lock()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"qdrant://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _QdrantHandler(BaseHTTPRequestHandler):
    local: Any
    lock: Any

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        _, _, name, *rest = self.path.partition("?")[0].split("/")
        with self.lock:
            answer = ANSWERS[self.command, "/".join(rest)](self.local, name, body)
        content = json.dumps({"result": answer, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_PATCH = answer  # noqa: N815 (http.server names them)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _dump(value: Any) -> Any:
    return [_dump(each) for each in value] if isinstance(value, list) else value.model_dump(mode="json")


def _create(local: Any, name: str, body: Any) -> bool:
    from qdrant_client import models

    asked = models.CreateCollection.model_validate(body)
    return bool(local.create_collection(name, asked.vectors, asked.sparse_vectors))


def _update(local: Any, name: str, body: Any) -> bool:
    from qdrant_client import models

    for vector, change in (models.UpdateCollection.model_validate(body).vectors or {}).items():
        local.collections[name].config.vectors[vector].hnsw_config = change.hnsw_config
    return True


def _upsert(local: Any, name: str, body: Any) -> Any:
    from qdrant_client import models

    return _dump(local.upsert(name, models.PointsList.model_validate(body).points))


def _retrieve(local: Any, name: str, body: Any) -> Any:
    from qdrant_client import models

    asked = models.PointRequest.model_validate(body)
    return _dump(local.retrieve(name, asked.ids, asked.with_payload))


def _scroll(local: Any, name: str, body: Any) -> Any:
    from qdrant_client import models

    asked = models.ScrollRequest.model_validate(body)
    points, offset = local.scroll(name, limit=asked.limit, offset=asked.offset, with_payload=asked.with_payload)
    return {"points": _dump(points), "next_page_offset": offset}


def _delete(local: Any, name: str, body: Any) -> Any:
    from qdrant_client import models

    return _dump(local.delete(name, models.PointIdsList.model_validate(body)))


def _search(local: Any, name: str, body: Any) -> Any:
    from qdrant_client import models

    searches = models.QueryRequestBatch.model_validate(body).searches
    exact = [search.model_copy(update={"params": None}) for search in searches]  # local mode has no other search
    return _dump(local.query_batch_points(name, exact))


ANSWERS: dict[tuple[str, str], Callable[[Any, str, Any], Any]] = {
    ("GET", "exists"): lambda local, name, _: {"exists": local.collection_exists(name)},
    ("GET", ""): lambda local, name, _: _dump(local.get_collection(name)),
    ("PUT", ""): _create,
    ("PATCH", ""): _update,
    ("PUT", "index"): lambda *_: {"operation_id": 1, "status": "completed"},
    ("PUT", "points"): _upsert,
    ("POST", "points"): _retrieve,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/count"): lambda local, name, _: _dump(local.count(name)),
    ("POST", "points/delete"): _delete,
    ("POST", "points/query/batch"): _search,
}

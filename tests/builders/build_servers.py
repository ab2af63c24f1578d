"""Servers on this machine: of web files, with all that goes wrong on a network, of Google's buckets, and of S3."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import Request, urlopen
from zlib import crc32

import pytest


@dataclass
class Behaviour:
    """What the next answers are like.

    drops: bytes of a body after which each of the next connections is closed. statuses: of the next answers, instead
    of files. ranges, tags, lengths: whether the server sends ranges, an ETag, the length. body, headers: of errors.
    """

    drops: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    ranges: bool = True
    tags: bool = True
    lengths: bool = True
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class FileServer:
    """Serves `files` (path -> bytes) and pages that list them; `requests` has path and range, `sent` counts bytes."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.does = Behaviour()
        self.requests: list[tuple[str, str]] = []
        self.authorizations: list[str] = []
        self.sent = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # of connections that a reader closed
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def restart(self, files: dict[str, bytes] | None = None, **behaviour: Any) -> None:
        """Forget what was asked; serve these files from now on, in this way."""
        self.files = self.files if files is None else files
        self.does, self.requests, self.authorizations, self.sent = Behaviour(**behaviour), [], [], 0

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def list_page(self, folder: str) -> bytes | None:
        """Return the page of a folder as Apache writes it, with links to the folder above and to other orders."""
        inside = sorted({path[len(folder) :].partition("/") for path in self.files if path.startswith(folder)})
        if not folder.endswith("/") or not inside:
            return None
        names = dict.fromkeys(name + mark for name, mark, _ in inside)
        links = ["?C=N;O=D", "/", *names]
        return f"<html><body>{''.join(f'<a href={link!r}>{link}</a>' for link in links)}</body></html>".encode()


def _make_handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            server.requests.append((self.path, self.headers.get("Range", "")))
            server.authorizations.append(self.headers.get("Authorization") or self.headers.get("api-key", ""))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if server.does.statuses and (status := server.does.statuses.pop(0)) != 200:
                self._send(status, server.does.body, server.does.headers)
                return
            path = unquote(urlsplit(self.path).path)
            if path.startswith(("/storage/", "/download/storage/")):
                self._serve_google(path)
            elif path in server.files:
                self._serve(server.files[path], ranged=server.does.ranges)
            elif (page := server.list_page(path)) is not None:
                self._send(200, page, {"Content-Type": "text/html"})
            elif server.list_page(f"{path}/") is not None:
                self._send(301, b"", {"Location": f"{path}/"})
            else:
                self._send(404, b"", {})

        do_PUT = do_POST = do_GET  # noqa: N815 (http.server names them)

        def do_HEAD(self) -> None:  # S3's question for an object
            server.requests.append((self.path, "HEAD"))
            server.authorizations.append(self.headers.get("Authorization", ""))
            content = server.files.get(unquote(self.path))
            status = server.does.statuses[0] if server.does.statuses else 404 if content is None else 200
            self.send_response(status)
            self.send_header("Content-Length", str(len(content or b"")))
            self.send_header("ETag", f'"{crc32(content or b""):08x}"')
            self.end_headers()

        def _serve(self, content: bytes, *, ranged: bool) -> None:
            tag = f'"{crc32(content):08x}"'
            headers = {
                "Last-Modified": formatdate(len(content), usegmt=True),
                **({"ETag": tag} if server.does.tags else {}),
            }
            span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if not ranged or not span:
                self._send(200, content, headers)
                return
            start, stop = int(span[1]), min(int(span[2] or len(content)) + 1, len(content))
            if start >= len(content):
                self._send(416, b"", {"Content-Range": f"bytes */{len(content)}", **headers})
                return
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
            self._send(206, content[start:stop], headers)

        def _serve_google(self, path: str) -> None:
            """Answer as the JSON interface of Google Cloud Storage does; a generation is the checksum of the bytes."""
            query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            found = re.fullmatch(r"(/download)?/storage/v1/b/([^/]+)(/o(?:/(.+))?)?/?", path)
            assert found, path
            objects = {
                name[len(found[2]) + 2 :]: b for name, b in server.files.items() if name.startswith(f"/{found[2]}/")
            }

            def describe(name: str) -> dict[str, str]:
                times = dict.fromkeys(("updated", "timeCreated"), "2026-01-01T00:00:00.000Z")
                size, generation = str(len(objects[name])), str(crc32(objects[name]))
                return {"name": name, "bucket": found[2], "size": size, "generation": generation, **times}

            if not objects or (found[4] and found[4] not in objects):
                self._send(404, b"{}", {})
            elif found[4] and found[1]:
                known = query.get("generation", "") in ("", describe(found[4])["generation"])
                self._serve(objects[found[4]], ranged=True) if known else self._send(404, b"{}", {})
            elif found[4]:
                self._send(200, json.dumps(describe(found[4])).encode(), {})
            else:
                inside = [name for name in sorted(objects) if name.startswith(query.get("prefix", ""))]
                self._send(200, json.dumps({"items": [describe(name) for name in inside]}).encode(), {})

        def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            chunked = not server.does.lengths and status == 200
            self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(content)))))
            self.end_headers()
            drop = server.does.drops.pop(0) if status < 300 and server.does.drops and len(content) > 1 else None
            part = content if drop is None else content[:drop]
            server.sent += len(part)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked and part else part)
            if drop is not None:
                self.close_connection = True
            elif chunked:
                self.wfile.write(b"0\r\n\r\n")

    return Handler


@contextmanager
def serve_files() -> Iterator[FileServer]:
    """Run a server of files."""
    server = FileServer()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def use_environment(**values: str) -> Iterator[None]:
    """Set variables, without those of the user's own stores, for stores that are opened meanwhile."""
    from sciprism.papers.remote.objects import open_store

    names = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.delenv(name, raising=False)
        fixed = {"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "NO_PROXY": "*"}
        for name, value in {**fixed, "AWS_EC2_METADATA_DISABLED": "true", **values}.items():
            patch.setenv(name, value)
        open_store.cache_clear()
        try:
            yield
        finally:
            open_store.cache_clear()


@contextmanager
def serve_buckets() -> Iterator[Any]:
    """Run an S3 server, and yield a client of it; addresses of s3:// are read from it meanwhile."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()  # buckets outlive a server of this process
    key = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    try:
        with use_environment(AWS_ENDPOINT_URL=address, **key):
            yield boto3.client("s3", endpoint_url=address)
    finally:
        server.stop()


def serve_hub(branches, asked, kind="datasets"):
    """Serve repositories of the hub: name -> branch -> path -> bytes; `asked` receives what is listed and read."""
    commit, place = "c0ffee" + "0" * 33, "/datasets" if kind == "datasets" else ""

    def oid(body):
        return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            path = unquote(urlsplit(self.path).path)
            for repo, found in branches.items():
                for branch, files in found.items():
                    sha = f"{commit}{len(branch) % 10}"
                    rows = [{"type": "file", "path": n, "size": len(b), "oid": oid(b)} for n, b in files.items()]
                    for name in (branch, sha):
                        if path == f"/api/{kind}/{repo}/tree/{name}":
                            asked.append(f"list {branch}")
                            return self.reply(json.dumps(rows).encode(), sha)
                        if path == f"/api/{kind}/{repo}/revision/{name}":
                            siblings = [{"rfilename": name} for name in files]
                            return self.reply(json.dumps({"id": repo, "sha": sha, "siblings": siblings}).encode(), sha)
                        file = path.removeprefix(f"{place}/{repo}/resolve/{name}/")
                        if file != path and file in files:
                            if self.command == "GET":
                                asked.append(file)
                            return self.reply(files[file], sha, ETag=f'"{oid(files[file])}"')
                if path.startswith(f"/api/{kind}/{repo}"):
                    return self.reply(b"", "", status=404, **{"X-Error-Code": "RevisionNotFound"})
            return self.reply(b"", "", status=200 if path == "/" else 404, **{"X-Error-Code": "RepoNotFound"})

        do_HEAD = do_GET  # noqa: N815

        def reply(self, body, sha, status=200, **headers):
            self.send_response(status)
            for key, value in {"X-Repo-Commit": sha, "Content-Length": len(body), **headers}.items():
                self.send_header(key, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

"""A hub for tests: its client's cache layout, and a server that speaks its protocol over the loopback."""

import hashlib
import json
import shutil
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote, urlparse

REVISION = "0123456789abcdef0123456789abcdef01234567"
COMMIT = "c0ffee" + "0" * 34
REPO = "some-group/some-encoder"


def handler(folder, asked):
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            path = unquote(urlparse(self.path).path)
            name = path.rsplit("/", 1)[-1]
            if path.startswith(f"/api/models/{REPO}/tree"):
                rows = [{"type": "file", "path": n, "size": len(b), "oid": oid(b)} for n, b in files.items()]
                return self.reply(json.dumps(rows).encode())
            if path.startswith(f"/api/models/{REPO}"):
                siblings = [{"rfilename": n} for n in files]
                return self.reply(json.dumps({"id": REPO, "sha": COMMIT, "siblings": siblings}).encode())
            if path.startswith(f"/{REPO}/resolve/") and name in files:
                asked.append(name)
                return self.reply(files[name], ETag=f'"{oid(files[name])}"')
            return self.reply(b"", status=404, **{"X-Error-Code": "RepoNotFound"})

        do_HEAD = do_GET  # noqa: N815

        def reply(self, body, status=200, **headers):
            self.send_response(status)
            for key, value in {"X-Repo-Commit": COMMIT, "Content-Length": len(body), **headers}.items():
                self.send_header(key, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Hub


def oid(body):
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def hub_layout(model, cache, name="some-owner/some-model"):
    """Put a model where the hub's client keeps it: blobs, a snapshot of links to them, a ref."""
    home = cache / f"models--{name.replace('/', '--')}"
    snapshot = home / "snapshots" / REVISION
    for folder in (home / "refs", home / "blobs", snapshot):
        folder.mkdir(parents=True)
    (home / "refs" / "main").write_text(REVISION)
    for number, file in enumerate(sorted(Path(model).iterdir())):
        shutil.copy(file, home / "blobs" / f"{number:040d}")
        (snapshot / file.name).symlink_to(f"../../blobs/{number:040d}")
    return snapshot


def hub_layout_with_folders(model, hub, name):
    snapshot = hub / f"models--{name.replace('/', '--')}" / "snapshots" / ("0" * 40)
    shutil.copytree(model, snapshot)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)

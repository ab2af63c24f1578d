"""Download from a hub: a small server of our own speaks the hub's protocol over the loopback."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlparse

import pytest

from sciprism.encoders.encoder import Encoder

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


@pytest.fixture
def hub(tiny_model, tmp_path):
    """The files that were asked for, and a function that runs a script against the hub in a new process."""
    shared = tmp_path / "shared"
    shutil.copytree(tiny_model, shared)
    (shared / "pytorch_model.bin").write_bytes(b"not to be fetched where safetensors are")
    asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(shared, asked))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}

    def run(script):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        code = f"from sciprism import Encoder\n{script}"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment | endpoint,
            capture_output=True,
            text=True,
            timeout=100,
        )
        return done.stdout + done.stderr

    yield asked, run
    server.shutdown()


def test_a_model_comes_from_the_hub_once_and_then_from_the_cache(hub, tiny_model):
    asked, run = hub
    script = f"print(Encoder.load('{REPO}', pooling='mean').fingerprint)"
    expected = Encoder.load(tiny_model, pooling="mean").fingerprint
    assert expected in run(script)
    assert "model.safetensors" in asked and "pytorch_model.bin" not in asked
    fetched = list(asked)
    assert expected in run(script)
    assert asked == fetched, "the second load must not ask the hub"


def test_an_unknown_model_is_said_in_one_line(hub):
    _, run = hub
    assert "some-group/other is no folder, is not in the local hub cache" in run(
        "Encoder.load('some-group/other')"
    )

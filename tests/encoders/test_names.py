"""Download from a hub: a small server of our own speaks the hub's protocol over the loopback."""

import os
import shutil
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer

import pytest

from hub_files import REPO, handler
from sciprism.encoders.encoder import Encoder


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


@pytest.mark.slow
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
    assert "some-group/other is no folder, is not in the local hub cache" in run("Encoder.load('some-group/other')")

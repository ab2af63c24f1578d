"""Other programs' clients, a browser, schemathesis and kills, against the service in a process of its own."""

import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from test_other_tools import ROOT, open_environment, run

GUIDE = (ROOT / "docs" / "guides" / "run-it-for-your-group.md").read_text(encoding="utf-8")
CLIENTS = {  # what the block imports: the packages, what it prints
    "openai": ("openai==3.57.0", "2 384"),
    "langchain_openai": ("langchain-openai==1.7.3", "384"),
    "llama_index": ("llama-index-embeddings-openai==0.7.0", "384"),
    "haystack": ("haystack-ai==3.4.1", "384"),
    "huggingface_hub": ("", "(1, 384)"),
}
SCHEMATHESIS = "schemathesis==4.32.5"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def serve(*options: str | Path, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "sciprism", "serve", *map(str, options), "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with log.open("ab") as file:
        process = subprocess.Popen(command, stderr=file, env=environment)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/ready")
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()
                    time.sleep(0.2)
            yield address, process
        finally:
            process.terminate()
            assert process.wait(60) in (-signal.SIGTERM, -signal.SIGKILL)


def find_block(name: str) -> str:
    blocks = GUIDE.split("```py\n")[1:]
    return next(block.partition("```")[0] for block in blocks if f"from {name}" in block)


@pytest.mark.slow
def test_the_clients_of_the_guide(tmp_path):
    with serve("--demo", log=tmp_path / "log") as (address, _):
        for name, (package, printed) in CLIENTS.items():
            python = open_environment(package, alone=False) if package else sys.executable
            code = "import os\nos.environ.pop('HF_HUB_OFFLINE')\n"  # which forbids huggingface_hub any address
            code += find_block(name).replace("http://127.0.0.1:8123", address)
            assert run([python, "-c", code], tmp_path).strip() == printed


@pytest.mark.slow
def test_no_request_of_the_openapi_is_a_failure_of_the_service(tmp_path):
    python = open_environment(SCHEMATHESIS, alone=False)
    with serve("--demo", "--workspace", tmp_path / "work", log=tmp_path / "log") as (address, _):
        options = ["--checks", "not_a_server_error", "--max-examples", "25", "--seed", "1", "--no-color"]
        run([python, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", *options], tmp_path)


@pytest.mark.slow
def test_an_answer_does_not_wait_for_the_clients_acknowledgement(tmp_path):
    """Head and body are two packets; without TCP_NODELAY the second waits 40 ms for a client that delays its answer."""
    with serve("--demo", log=tmp_path / "log") as (address, _):
        connection, seconds = http.client.HTTPConnection(address.removeprefix("http://")), []
        for _ in range(40):
            start = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            seconds.append(time.perf_counter() - start)
        assert statistics.median(seconds) < 0.03


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_workspace_intact(tmp_path):
    content = (ROOT / "examples" / "landmarks" / "landmarks.bib").read_bytes()
    uploaded = set()
    for seconds in (0.0, 0.3, 1.0):
        with serve("--demo", "--workspace", tmp_path / "work", log=tmp_path / "log") as (address, process):
            url = f"{address}/workspace/collections"
            post = urllib.request.Request(f"{url}?filename=a.bib", content, method="POST")
            uploaded.add(read_json(post)["id"])
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
    with serve("--demo", "--workspace", tmp_path / "work", log=tmp_path / "log") as (address, _):
        items = read_json(f"{address}/workspace/collections")["collections"]
        while any(item["state"] in ("waiting", "working") for item in items):
            time.sleep(0.2)
            items = read_json(f"{address}/workspace/collections")["collections"]
        assert {item["id"] for item in items} == uploaded
        assert {(item["state"], item["papers"], item["skipped"]) for item in items} == {("ready", 286, 0)}
        for id in uploaded:
            document = read_json(f"{address}/search?q=continents&mode=hybrid&collection={id}")
            assert len(document["rankings"][0]["hits"]) == 10


def read_json(request):
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is installed")
def test_the_main_path_of_each_page_in_a_browser(tmp_path):
    python = open_environment("playwright==1.65.2 axe-core-python==0.1.0", alone=True)
    papers = (ROOT / "examples" / "landmarks" / "landmarks.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "submissions.jsonl").write_text("".join(papers[:20]))
    (tmp_path / "reviewers").mkdir()
    for number in range(1, 5):
        (tmp_path / "reviewers" / f"reviewer{number}@example.org.jsonl").write_text("".join(papers[number * 20 :][:20]))
    (tmp_path / "subjects.csv").write_text("id,name\nsky,astronomy\nlife,genes\nearth,geology\n")
    with serve("--demo", "--workspace", tmp_path / "work", log=tmp_path / "log") as (address, _):
        printed = run([python, Path(__file__).with_name("browser.py"), address, BROWSER], tmp_path)
    assert printed.strip() == "13 pages; no problem"

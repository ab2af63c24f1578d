"""`embed`, `inspect` and `merge` on objects: parts, interruptions of the server, and no secret anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build_commands import run
from build_parts import write_papers
from build_servers import serve_buckets, serve_files, use_environment
from fake_encoder import some_papers
from sciprism.store import StoredCollection


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sciprism.papers.remote.objects.BACKOFF", 0.0)
    return lambda *words: run(monkeypatch, capsys, *words)


@pytest.fixture
def works(tmp_path):
    (tmp_path / "works").mkdir()
    return [write_papers(tmp_path / "works" / f"part_{n}.jsonl", some_papers(60, 60 * n)) for n in range(2)]


def test_parts_of_a_bucket(command, works, tiny_model):
    model = ["--model", tiny_model, "--pooling", "mean"]
    with serve_buckets() as client:
        client.create_bucket(Bucket="bucket")
        for path in works:
            client.upload_file(str(path), "bucket", f"works/{path.name}")
        for part in ("1/2", "2/2"):
            folder = f"parts/{part[0]}"
            status, _, error = command("embed", "s3://bucket/works/part_*.jsonl", "-o", folder, "--part", part, *model)
            assert status == 0, error
        assert command("merge", "parts", "-o", "vecs")[0] == 0
        assert command("embed", "works/part_*.jsonl", "-o", "local", *model)[0] == 0
        one, many = (StoredCollection.open(Path(name)) for name in ("local", "vecs"))
        assert {paper.id: paper for paper in one.papers(range(120))} == {p.id: p for p in many.papers(range(120))}
        assert many.papers([0])[0].place.file == "s3://bucket/works/part_0.jsonl"
        status, printed, _ = command("embed", "s3://bucket/works/", "-o", "vecs")  # a monthly update
        assert status == 0 and "120 unchanged" in printed
        status, printed, _ = command("inspect", "s3://bucket/works/", "--json")
        assert status == 0 and json.loads(printed)["papers"] == 120
        status, _, error = command("embed", "s3://bucket/none.jsonl", "-o", "none")
        assert status == 2 and error.startswith("sciprism: s3://bucket/none.jsonl: no such file") and "\n" in error[-1]
        assert not Path("none").exists()


def test_signed_addresses_continue_with_new_signatures_and_are_written_nowhere(command, works, tiny_model):
    """A worker whose address expires loses nothing; its next address has another signature."""
    model = ["--model", tiny_model, "--pooling", "mean"]
    with serve_files() as server, use_environment():
        server.restart({"/papers.jsonl": works[0].read_bytes()})
        address = server.address.replace("//", "//me:hunter2@") + "/papers.jsonl?X-Amz-Signature=hunter2"
        assert command("embed", address, "-o", "parts/1", "--part", "1/2", *model)[0] == 0
        server.restart(statuses=[200] * 6 + [403] * 9)
        status, _, error = command("embed", address, "-o", "parts/2", "--part", "2/2", *model)
        assert status == 2 and "(status 403); " in error and "where the address is signed, fetch a new one" in error
        server.restart()
        assert command("embed", address + "3", "-o", "parts/2", "--part", "2/2", *model)[0] == 0
        server.restart(statuses=[503] * 9)
        _, _, other = command("embed", address, "-o", "one", *model)
        assert "papers.jsonl: cannot be reached (status 503)" in other
    assert "hunter2" not in error + other
    for path in Path("parts").rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes()
    assert command("merge", "parts", "-o", "vecs")[0] == 0

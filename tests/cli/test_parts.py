"""`embed --part`, `embed --ray` and `merge`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from build_commands import run, sciprism
from build_parts import describe, write_papers
from fake_encoder import some_papers
from ray_clusters import two_node_cluster
from sciprism.store import StoredCollection


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    return lambda *words: run(monkeypatch, capsys, *words)


@pytest.fixture
def papers(tmp_path):
    (tmp_path / "works").mkdir()
    for number in range(3):
        write_papers(tmp_path / "works" / f"part_{number}.jsonl", some_papers(300, 300 * number))
    return tmp_path / "works"


@pytest.fixture
def model(tiny_model):
    return ["--model", tiny_model, "--pooling", "mean"]


def test_two_parts_are_embedded_merged_and_searched(papers, command, model):
    status, printed, _ = command("embed", "works/*.jsonl", "-o", "parts/1", "--part", "1/2", *model)
    assert status == 0 and "read 450 papers: 450 new" in printed
    assert "part 1/2 is done; after all 2: sciprism merge parts -o OUT" in printed
    status, _, error = command("merge", "parts", "-o", "vecs")
    assert status == 2 and "part 2/2 is missing: embed it with --part" in error and not Path("vecs").exists()
    status, printed, _ = command("embed", "works/*.jsonl", "-o", "parts/2", "--part", "2/2", "--json", *model)
    document = json.loads(printed)
    assert status == 0 and document["schema"] == "sciprism.embed/1" and document["read"] == 450
    status, printed, _ = command("merge", "parts", "-o", "vecs")
    assert status == 0 and "vecs holds 900 papers of 900 read" in printed
    for folder in ("parts/1", "vecs"):
        status, printed, _ = command("verify", folder, "--json")
        assert status == 0 and {each["state"] for each in json.loads(printed)["files"]} == {"ok"}
    assert command("search", "vecs", "topic 3", "--no-why")[0] == 0
    status, printed, _ = command("embed", "works", "-o", "vecs", "--json")
    assert json.loads(printed)["unchanged"] == 900
    document = json.loads(command("merge", "parts/1", "parts/2", "-o", "again", "--json")[1])
    assert (document["schema"], document["papers"], document["merged"]) == ("sciprism.merge/1", 900, 0)


def test_ray_is_an_extra(papers, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    status, _, error = command("embed", papers, "-o", "vecs", "--ray", "local")
    assert status == 2 and 'needs the "ray" extra: pip install "sciprism[ray]"' in error


def stop(words, folder, files, sent=signal.SIGTERM):
    """Run a command until so many collections are begun in a folder, and stop it; return what it says."""
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        deadline = time.monotonic() + 120
        while len(list(folder.glob("*/manifest.json"))) < files and time.monotonic() < deadline:
            time.sleep(0.01)
        worker.send_signal(sent)
        _, error = worker.communicate()
    assert worker.returncode == 130 and "interrupted; " in error and "the same command" in error


@pytest.mark.slow
def test_a_job_that_is_terminated_saves_and_continues(tmp_path, model):
    """SLURM and Kubernetes send SIGTERM before they kill."""
    file = write_papers(tmp_path / "large.jsonl", some_papers(6000))
    words = ["embed", file, "-o", tmp_path / "parts" / "1", "--part", "1/1", "--threads", 1, *model]
    stop(words, tmp_path / "parts", 1)
    assert sciprism(*words).returncode == 0
    assert sciprism("merge", tmp_path / "parts", "-o", tmp_path / "vecs").returncode == 0
    assert len(StoredCollection.open(tmp_path / "vecs")) == 6000


@pytest.mark.slow
def test_a_stopped_run_on_a_cluster_continues_with_the_same_command(tmp_path, model):
    for number in range(8):
        write_papers(tmp_path / f"{number}.jsonl", some_papers(600, 600 * number))
    files = sorted(tmp_path.glob("*.jsonl"))
    assert sciprism("embed", *files, "-o", tmp_path / "one", *model).returncode == 0
    with two_node_cluster() as cluster:  # of four parts two run at once
        words = ["embed", *files, "-o", tmp_path / "vecs", *model, "--ray", cluster.address]
        stop([*words, "--parts", 4], tmp_path / "vecs-parts", 3)
        again = sciprism(*words, "--json")
    document = json.loads(again.stdout)
    assert (document["schema"], document["parts"], document["papers"]) == ("sciprism.merge/1", 4, 4_800)
    assert describe(tmp_path / "vecs")["papers"] == describe(tmp_path / "one")["papers"]
    assert describe(tmp_path / "vecs")["vectors"] == describe(tmp_path / "one")["vectors"]
    assert not (tmp_path / "vecs-parts").exists()

"""`embed --ray`: which options go together, what is said where Ray or a cluster is missing; a run that is stopped."""

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


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_papers(tmp_path / "papers.jsonl", some_papers(3))
    return lambda *words: run(monkeypatch, capsys, "embed", "papers.jsonl", "-o", "vecs", *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parts", "4"], "--parts is for a run on a Ray cluster; name one with --ray"),
        (["--no-merge"], "--no-merge is for a run on a Ray cluster"),
        (["--gpus-per-part", "1", "--part", "1/2"], "--gpus-per-part is for a run on a Ray cluster"),
        (["--ray", "local", "--part", "1/2"], "--ray runs all parts, --part one of them"),
        (["--ray", "local", "--prune"], "--prune is for a collection that has papers"),
        (["--ray", "local", "--parts", "-1"], "--parts -1 is no number of parts"),
        (["--ray", "local", "--threads", "-1"], "it needs at least 1"),
        (["--ray", "local", "--gpus-per-part", "2"], "it uses one, or a share of one such as 0.5"),
        (["--ray", "papers.jsonl"], "'papers.jsonl' is no address of a Ray cluster; it is auto, local, HOST:PORT or"),
        (["--ray", "local", "--parts", "200000"], "of at most 100,000"),
        (["--ray", "local", "more.jsonl"], "more.jsonl: no such file"),
        (["--ray", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1: "),
        (["--ray", "ray://127.0.0.1:1"], "no Ray cluster at ray://127.0.0.1:1: "),
    ],
)
def test_what_cannot_run_on_a_cluster_is_refused_at_once(command, words, message):
    status, _, error = command(*words)
    assert status == 2 and message in error and error.count("\n") == 1 and not Path("vecs").exists()


def test_ray_is_an_extra(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    status, _, error = command("--ray", "local")
    assert status == 2 and 'needs the "ray" extra: pip install "sciprism[ray]"' in error and not Path("vecs").exists()


def find_done(folder):
    states = [path.read_text() for path in folder.glob("parts/?-of-4.json")]
    return [state for state in states if '"done",' in state]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_continues_with_the_same_command_and_with_plain_parts(tmp_path, tiny_model, sent):
    (tmp_path / "works").mkdir()
    for number in range(8):
        write_papers(tmp_path / "works" / f"{number}.jsonl", some_papers(1500, 1500 * number))
    model = ["--model", str(tiny_model), "--pooling", "mean"]
    one = sciprism("embed", "works", "-o", "one", *model, cwd=tmp_path)
    assert one.returncode == 0
    with two_node_cluster() as cluster:  # of four parts two run at once
        words = ["embed", "works", "-o", "vecs", *model, "--ray", cluster.address]  # paths are relative
        started = [sys.executable, "-m", "sciprism", *words, "--parts", "4"]
        with subprocess.Popen(
            started, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as driver:
            deadline = time.monotonic() + 120
            while not find_done(tmp_path / "vecs") and time.monotonic() < deadline:
                time.sleep(0.01)
            driver.send_signal(sent)
            _, error = driver.communicate()
        assert driver.returncode == 130 and "; the same command continues where this one stopped" in error
        found = json.loads(sciprism("status", "vecs", "--json", cwd=tmp_path).stdout)
        assert found["summary"].get("done", 0) < 4 and not {"reading", "embedding"} & set(found["summary"])
        assert not list((tmp_path / "vecs" / "parts").glob("ray-*"))
        part = sciprism("embed", "works", "-o", "vecs", *model, "--part", "3/4", cwd=tmp_path)
        assert part.returncode == 0 and "part 3/4 is done" in part.stdout
        again = sciprism(*words, "--json", cwd=tmp_path)
    document = json.loads(again.stdout)
    assert again.returncode == 0 and document["schema"] == "sciprism.embed-ray/1" and document["done_before"] >= 1
    assert (document["parts"], document["failed"], document["merge"]["papers"]) == (4, {}, 12_000)
    assert describe(tmp_path / "vecs") == describe(tmp_path / "one")

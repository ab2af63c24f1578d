"""A run that was killed continues, and ends with the numbers of one that was not."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

TASK = """
[[task]]
name = "part-{number}"
protocol = "retrieve"
format = "search"
data = "set-{number}"
metric = ["ndcg@10", "recall@100"]
"""
TASKS = 4


@pytest.fixture
def collection(tmp_path):
    """Four sets of 1,500 documents of numbered words."""
    for number in range(TASKS):
        folder = tmp_path / f"set-{number}"
        (folder / "qrels").mkdir(parents=True)
        with (folder / "corpus.jsonl").open("w") as file:
            for i in range(1500):
                file.write(json.dumps({"_id": f"d{i}", "title": f"word{i} of {number}", "text": ""}) + "\n")
        with (folder / "queries.jsonl").open("w") as file:
            for i in range(40):
                file.write(json.dumps({"_id": f"q{i}", "text": f"word{i}"}) + "\n")
        lines = [f"q{i}\td{i}\t1" for i in range(40)]
        (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    (tmp_path / "my.toml").write_text("".join(TASK.format(number=number) for number in range(TASKS)))
    return tmp_path


def command(out):
    return [sys.executable, "-m", "sciprism", "evaluate", "random", "bm25", "--tasks", "my.toml", "-o", out]


def numbers(folder):
    results = {path.relative_to(folder): json.loads(path.read_text()) for path in folder.glob("*/*/*.json")}
    return {name: (result["status"], result["metrics"]) for name, result in results.items()}


@pytest.mark.slow
def test_a_killed_run_continues(collection):
    def run(out, cache):
        environment = os.environ | {"SCIPRISM_CACHE": str(collection / cache)}
        return {
            "cwd": collection,
            "env": environment,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
        }

    whole = subprocess.run(command("whole"), **run("whole", "one"), check=True)
    assert whole.returncode == 0
    killed = subprocess.Popen(command("cut"), **run("cut", "two"))
    first = collection / "cut" / "random" / "my" / "part-0.json"
    while not first.exists() and killed.poll() is None:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    left = len(numbers(collection / "cut"))
    assert 0 < left < 2 * TASKS, "the run was over before it could be killed"
    again = subprocess.run(command("cut"), **run("cut", "two"), text=True)
    assert again.returncode == 0 and "(already scored)" in again.stderr
    assert numbers(collection / "cut") == numbers(collection / "whole")

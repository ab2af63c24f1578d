"""`embed --part`, `merge` and `status`, and the scripts for SLURM and Kubernetes that call them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from build_commands import run, sciprism
from build_parts import write_papers
from fake_encoder import some_papers
from sciprism.store import StoredCollection

EXAMPLES = Path(__file__).parents[2] / "examples"


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
    assert command("status", "vecs")[0] == 2
    status, printed, _ = command("embed", "works/*.jsonl", "-o", "vecs", "--part", "1/2", *model)
    assert status == 0 and "part 1/2 is done: read" in printed and "sciprism merge vecs" in printed
    status, printed, error = command("merge", "vecs")
    assert status == 2 and "part 2/2 has not begun; run it with --part 2/2" in error
    _, printed, _ = command("status", "vecs")
    assert re.search(r"1 +done .*\n", printed) and re.search(r"2 +waiting", printed)
    assert "1 done" in printed and "of 2 parts" in printed and max(map(len, printed.splitlines())) <= 80
    # the model is the plan's: it need not be named again
    status, printed, error = command("embed", "works/*.jsonl", "-o", "vecs", "--part", "2/2", "--json")
    document = json.loads(printed)
    assert status == 0 and document["schema"] == "sciprism.embed-part/1" and document["counts"]["read"] > 200
    assert "all parts are done: sciprism merge vecs" in command("status", "vecs")[1]
    status, printed, _ = command("verify", "vecs", "--json")
    states = {each["name"]: each["state"] for each in json.loads(printed)["files"]}
    assert status == 0 and set(states.values()) == {"ok"} and "parts/1-of-2/manifest.json" in states
    status, printed, _ = command("merge", "vecs")
    assert status == 0 and "vecs holds 900 papers of 900 read" in printed
    assert "merged already" in command("merge", "vecs")[1]
    for words in (["a.jsonl", "b.ris"], ["works/part_0.jsonl"]):
        status, _, error = command("merge", *words)
        assert status == 2 and f"to join files of papers, each paper once: sciprism embed {' '.join(words)} -o" in error
    assert "is merged and holds 900 papers" in command("status", "vecs")[1]
    document = json.loads(command("status", "vecs", "--json")[1])
    assert document["schema"] == "sciprism.status/1" and document["stage"] == "merged"
    status, printed, _ = command("embed", "works/*.jsonl", "-o", "vecs", "--part", "1/2", *model)
    assert status == 0 and "are merged, it holds 900 papers: nothing to do" in printed
    status, printed, _ = command("verify", "vecs", "--json")
    assert status == 0 and {each["state"] for each in json.loads(printed)["files"]} == {"ok"}
    assert command("search", "vecs", "topic 3", "--no-why")[0] == 0
    status, printed, _ = command("embed", "works", "-o", "vecs", "--json")
    assert json.loads(printed)["unchanged"] == 900


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--part", "0/2"], "where a scheduler counts from 0, add 1"),
        (["--part", "two"], "not of the form i/n, such as 2/8"),
        (["--part", "1/2", "--prune"], "--prune is for a collection that has papers"),
        (["--part", "1/2", "--replace"], "--replace is for a collection that has papers"),
    ],
)
def test_options_that_parts_have_not(papers, command, words, message):
    status, _, error = command("embed", papers, "-o", "vecs", *words)
    assert status == 2 and message in error and not Path("vecs").exists()


def test_a_bad_record_stops_a_part_before_it_encodes(papers, command, model):
    with (papers / "part_1.jsonl").open("a") as file:
        file.write("{broken\n")
    statuses = [command("embed", papers, "-o", "vecs", "--part", f"{part}/2", *model)[0] for part in (1, 2)]
    assert sorted(statuses) == [0, 2]
    _, printed, _ = command("status", "vecs")
    assert re.search(r"part \d failed: .*part_1.jsonl, record 301 .*--skip-bad", printed)
    for part in (1, 2):
        assert command("embed", papers, "-o", "vecs", "--part", f"{part}/2", "--skip-bad", *model)[0] == 0
    status, printed, _ = command("merge", "vecs")
    assert status == 0 and "1 skipped" in printed and "900 papers" in printed


@pytest.mark.slow
def test_a_job_that_is_terminated_saves_and_continues(papers, tmp_path, model):
    """SLURM and Kubernetes send SIGTERM before they kill."""
    for path in papers.iterdir():
        path.unlink()
    write_papers(papers / "large.jsonl", some_papers(6000))
    words = ["embed", papers, "-o", tmp_path / "vecs", "--part", "1/1", "--threads", 1, *model]
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        deadline = time.monotonic() + 60
        while not (tmp_path / "vecs" / "parts" / "1-of-1" / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        worker.send_signal(signal.SIGTERM)
        _, error = worker.communicate()
    assert worker.returncode == 130 and "interrupted; " in error and "the same command" in error
    assert '"stopped"' in (tmp_path / "vecs" / "parts" / "1-of-1.json").read_text()
    assert sciprism(*words).returncode == 0 and sciprism("merge", tmp_path / "vecs").returncode == 0
    assert len(StoredCollection.open(tmp_path / "vecs")) == 6000


@pytest.fixture
def stubs(tmp_path):
    """Commands that write what they are called with to a file; `sciprism` can wait for a signal."""
    folder = tmp_path / "bin"
    folder.mkdir()
    bodies = {
        "sciprism": 'if [ -n "$WAIT" ]; then trap "exit 130" TERM; touch "$WAIT"; while :; do sleep 0.05; done; fi',
        "sbatch": 'echo "17;cluster"',
        "scontrol": "",
    }
    for name, body in bodies.items():
        path = folder / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >> "$CALLS"\n{body}\n')
        path.chmod(0o755)
    calls = tmp_path / "calls"
    return calls, {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls), "WAIT": ""}


def test_the_slurm_scripts_submit_and_run_parts(tmp_path, stubs):
    calls, environment = stubs
    slurm = EXAMPLES / "slurm"
    done = subprocess.run([slurm / "submit.sh", "in", "out", "8", "4"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "array job 17 embeds 8 parts" in done.stdout
    first, second = calls.read_text().splitlines()
    assert "--array=1-8%4" in first and first.endswith("embed.sbatch")
    assert "--dependency=afterok:17 " in second and second.endswith("merge.sbatch")
    usage = subprocess.run([slurm / "submit.sh"], env=environment, capture_output=True, text=True)
    assert usage.returncode == 2 and "./submit.sh INPUT OUT PARTS [RUNNING]" in usage.stderr

    calls.unlink()
    job = {"INPUT": "my works/*.gz", "OUT": "out", "PARTS": "8", "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "4"}
    environment |= job | {"SLURM_ARRAY_JOB_ID": "17"}
    assert subprocess.run(["bash", slurm / "embed.sbatch"], env=environment).returncode == 0
    assert calls.read_text() == "sciprism embed my works/*.gz -o out --part 3/8 --threads 4\n"
    calls.unlink()
    environment["OUT"] = str(tmp_path)
    assert subprocess.run(["bash", slurm / "merge.sbatch"], env=environment).returncode == 0
    assert calls.read_text() == f"sciprism merge {tmp_path}\nsciprism verify {tmp_path} --json\n"


def test_a_task_at_its_time_limit_is_queued_again(tmp_path, stubs):
    calls, environment = stubs
    ready = tmp_path / "ready"
    job = {"INPUT": "in", "OUT": "out", "PARTS": "8", "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_JOB_ID": "17"}
    with subprocess.Popen(
        ["bash", EXAMPLES / "slurm" / "embed.sbatch"], env=environment | job | {"WAIT": str(ready)}
    ) as task:
        while not ready.exists():
            time.sleep(0.01)
        task.send_signal(signal.SIGTERM)
    assert task.returncode in (130, 143) and calls.read_text().endswith("scontrol requeue 17_3\n")


def test_the_kubernetes_jobs_run_parts(stubs):
    calls, environment = stubs
    for name, index, expected in (
        ("embed.yaml", "7", "sciprism embed /papers/works -o /papers/vectors --part 8/8 --threads 2\n"),
        ("merge.yaml", "", "sciprism merge /papers/vectors\nsciprism verify /papers/vectors\n"),
    ):
        calls.unlink(missing_ok=True)
        job = yaml.safe_load((EXAMPLES / "kubernetes" / name).read_text())
        assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        variables = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        assert name == "merge.yaml" or int(variables["PARTS"]) == job["spec"]["completions"]
        environment |= variables | {"JOB_COMPLETION_INDEX": index, "THREADS": "2"}
        assert subprocess.run([*container["command"], *container["args"]], env=environment).returncode == 0
        assert calls.read_text() == expected

"""Exit statuses and messages: what a person or a script sees when something is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from build_commands import run, sciprism
from sciprism import __version__ as sciprism_version
from sciprism.cli import main as main_module
from sciprism.encoders import settings, speed
from sciprism.parallel import DEVICE


def test_the_device_of_a_command(monkeypatch, capsys, tmp_path, tiny_model):
    (tmp_path / "papers.csv").write_text("id,title\n1,Dark matter\n")
    command = ["embed", str(tmp_path / "papers.csv"), "-o", str(tmp_path / "c")]
    command += ["--model", str(tiny_model), "--pooling", "mean", "--device"]
    assert run(monkeypatch, capsys, *command, "cpu")[0] == 0
    assert not DEVICE.get(), "for this command alone"


def test_the_first_numbers_of_vectors_alone_are_kept_and_searched(monkeypatch, capsys, tmp_path, tiny_model):
    (tmp_path / "papers.csv").write_text("id,title\n1,Dark matter\n2,How cells divide\n")
    embed = ["embed", str(tmp_path / "papers.csv"), "-o", str(tmp_path / "c")]
    first = ["--model", str(tiny_model), "--pooling", "mean", "--dimensions", "16"]
    assert run(monkeypatch, capsys, *embed, *first)[0] == 0
    assert '"dim":16' in (tmp_path / "c" / "manifest.json").read_text().replace(" ", "")
    assert "2 unchanged" in run(monkeypatch, capsys, *embed)[1], "the collection knows its dimensions"
    assert "Dark matter" in run(monkeypatch, capsys, "search", str(tmp_path / "c"), "-q", "dark matter")[1]
    status, _, errors = run(monkeypatch, capsys, *embed, *first[:-1], "8")
    assert status == 2 and ", truncate_dim 16" in errors and ", truncate_dim 8" in errors


def test_too_little_memory_has_the_status_of_a_failure(monkeypatch, capsys):
    def broken(**_):
        raise MemoryError

    monkeypatch.setattr(main_module, "app", broken)
    status, _, errors = run(monkeypatch, capsys)
    assert status == 1 and "MemoryError" in errors


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "One"}\n')
    pipe = f"{sys.executable} -m sciprism inspect {papers} | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_the_version_is_that_of_the_package(monkeypatch, capsys):
    assert run(monkeypatch, capsys, "--version")[1].strip() == sciprism_version


def test_describe_says_what_is_active(monkeypatch, capsys, tiny_model):
    status, _, errors = run(monkeypatch, capsys, "describe", tiny_model)
    assert status == 2 and "does not state its pooling" in errors
    words = ("describe", tiny_model, "--pooling", "mean")
    shown = run(monkeypatch, capsys, *words)[1]
    assert "BERT, 2 layers, 32 wide" in shown and "all (every format and role)" in shown
    facts = json.loads(run(monkeypatch, capsys, *words, "--json")[1])
    assert facts["pooling"] == "mean" and facts["formats"] == ["classification", "regression", "proximity", "search"]
    assert facts["fingerprint"] in shown


def test_describe_measures_the_speed_of_each_precision_that_has_instructions(monkeypatch, capsys, tiny_model):
    for name, value in {"SIDE": 64, "PRODUCTS": 1, "ROUNDS": 1, "SAMPLE": speed.SAMPLE[:2]}.items():
        monkeypatch.setattr(speed, name, value)
    monkeypatch.setattr(settings, "cpu_features", lambda: {"avx2", "avx512_vnni", "avx512_bf16"})
    monkeypatch.setattr(speed, "cpu_features", settings.cpu_features)
    words = ["describe", tiny_model, "--pooling", "mean", "--speed"]
    _, printed, _ = run(monkeypatch, capsys, *words, "--json")
    measured = json.loads(printed)["speed"]
    assert measured["instructions"] == ["avx2", "avx512bf16", "avx512vnni"]
    assert measured["auto"] == "bfloat16"
    assert measured["precisions"].pop("float16") == {"path": "no instructions"}
    for figures in measured["precisions"].values():
        assert figures["papers_per_second"] > 0 and figures["product_gflops"] > 0
        assert figures["share_of_product_rate"] >= 0
    _, printed, _ = run(monkeypatch, capsys, *words)
    assert "float16: no instructions" in printed and " papers/s, " in printed
    assert "--precision auto takes bfloat16, if the model's vectors agree" in " ".join(printed.split())


def test_ctrl_c_says_what_was_stored(tmp_path, tiny_model):
    command = ["embed", "-", "-o", tmp_path / "c", "--model", tiny_model, "--pooling", "mean"]
    with subprocess.Popen(
        [sys.executable, "-m", "sciprism", *map(str, command)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as writer:
        while not (tmp_path / "c" / "manifest.json").exists() and writer.poll() is None:
            time.sleep(0.05)
        writer.send_signal(signal.SIGINT)  # it waits for standard input
        assert writer.wait() == 130
        assert writer.stderr.read().endswith("interrupted; nothing was stored yet; the same command starts again\n")


def test_a_letter_that_the_terminal_lacks_is_no_traceback(tmp_path):
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "Über ψ", "venue": "Журнал"}\n', encoding="utf-8")
    done = sciprism("inspect", papers, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0 and "\\u0416" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_under_standard_output_is_named_once(tmp_path, more):
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "One"}\n')
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "sciprism", "inspect", str(papers), *more]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert "No space left on device: 'standard output'" in done.stderr
    assert done.stderr.count("No space left") == 1

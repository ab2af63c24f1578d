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
from sciprism.cli import main as main_module
from sciprism.encoders import settings, speed
from sciprism.errors import InputError
from sciprism.parallel import DEVICE


def test_the_device_of_a_command(monkeypatch, capsys, tmp_path, tiny_model):
    (tmp_path / "papers.csv").write_text("id,title\n1,Dark matter\n")
    command = ["embed", str(tmp_path / "papers.csv"), "-o", str(tmp_path / "c")]
    command += ["--model", str(tiny_model), "--pooling", "mean", "--device"]
    status, _, errors = run(monkeypatch, capsys, *command, "abacus")
    assert status == 2 and errors.startswith("sciprism: the device abacus cannot be used")
    assert run(monkeypatch, capsys, *command, "cpu")[0] == 0
    status, _, errors = run(monkeypatch, capsys, *command, "cpu", "--ray", "local")
    assert status == 2 and errors.startswith("sciprism: --device is of this machine")
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


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["index", "c", "--lexical"], "--device"),
        (["match", "explain", "s"], "--device"),
        (["embed", "a", "-o", "b"], "--data"),
        (["prepare", "citations", "a", "-o", "b"], "--data"),
    ],
)
def test_an_option_of_the_program_that_a_command_does_not_use_is_refused(monkeypatch, capsys, words, option):
    status, _, errors = run(monkeypatch, capsys, *words, option, "cpu")
    assert status == 2 and errors.startswith(f"sciprism: {option} is not for `sciprism {words[0]}")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["embed", "a.csv", "-o", "c", "--formats", ""], "--formats"),
        (["embed", "a.csv", "-o", ""], "-o"),
        (["search", "c", "dna", "--year="], "--year"),
        (["inspect", ""], "an argument"),
    ],
)
def test_an_empty_value_is_no_default(monkeypatch, capsys, arguments, name):
    status, _, errors = run(monkeypatch, capsys, *arguments)
    assert status == 2 and errors.startswith(f"sciprism: {name} is empty; give it a value")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("mend it"), 2, "sciprism: mend it\n"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "MemoryError"),
    ],
)
def test_each_foreseen_failure_has_its_status(monkeypatch, capsys, error, status, message):
    def broken(**_):
        raise error

    monkeypatch.setattr(main_module, "app", broken)
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    assert stop.value.code == status
    assert message in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "One"}\n')
    pipe = f"{sys.executable} -m sciprism inspect {papers} | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_version_and_help():
    from importlib.metadata import version

    assert sciprism("--version").stdout.strip() == version("sciprism")
    assert "search" in sciprism("--help").stdout


def test_describe_says_what_is_active(tiny_model):
    plain = sciprism("describe", tiny_model)
    assert plain.returncode == 2 and "does not state its pooling" in plain.stderr
    shown = sciprism("describe", tiny_model, "--pooling", "mean").stdout
    assert "BERT, 2 layers, 32 wide" in shown and "all (every format and role)" in shown
    facts = json.loads(sciprism("describe", tiny_model, "--pooling", "mean", "--json").stdout)
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

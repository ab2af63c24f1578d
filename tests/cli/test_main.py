"""Exit statuses and messages: what a person or a script sees when something is wrong."""

import json
import subprocess
import sys

import pytest

from sciprism.cli import main as door
from sciprism.errors import InputError


def sciprism(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "sciprism", *map(str, arguments)], capture_output=True, text=True, **options
    )


def test_a_wrong_request_is_status_2_and_one_line():
    done = sciprism("describe", "/no/such/model")
    assert done.returncode == 2
    assert done.stderr.startswith("sciprism: no folder /no/such/model") and done.stderr.count("\n") == 1
    assert not done.stdout


@pytest.mark.parametrize("arguments", [["nonsense"], ["embed"], ["search", "--no-such-option", "x"]])
def test_a_wrong_command_line_is_status_2(arguments):
    done = sciprism(*arguments)
    assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (InputError("mend it"), 2, "sciprism: mend it\n"),
        (KeyboardInterrupt(), 1, "continues where this one stopped"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "MemoryError"),
    ],
)
def test_each_foreseen_failure_has_its_status(monkeypatch, capsys, error, status, said):
    def broken(**_):
        raise error

    monkeypatch.setattr(door, "app", broken)
    with pytest.raises(SystemExit) as stop:
        door.main()
    assert stop.value.code == status
    assert said in capsys.readouterr().err


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
    assert facts["pooling"] == "mean" and facts["formats"] == [
        "classification",
        "regression",
        "proximity",
        "search",
    ]
    assert facts["fingerprint"] in shown

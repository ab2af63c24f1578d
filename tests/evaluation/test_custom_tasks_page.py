"""The page on custom tasks is true: its files, run by its commands, give the numbers that it prints."""

import json
import re
import sys
from pathlib import Path

import pytest

from sciprism.cli.main import main
from sciprism.datasets.layouts.custom import TEST_SHARE
from sciprism.evaluation.task_files import CUSTOM_LAYOUTS, REQUIRED

PAGE = (Path(__file__).parents[2] / "docs" / "custom-tasks.md").read_text(encoding="utf-8")
SECTIONS = {part.partition(":")[0]: part for part in re.split(r"^## ", PAGE, flags=re.M)[1:]}
FILE = re.compile(r"^`([^`\n]+)`\n\n```\w+\n(.*?)^```", re.M | re.S)
COMMAND = re.compile(r"^```bash\nsciprism (.*?)\n```\n\n```text\n(.*?)^```", re.M | re.S)


def words(line):
    """What a line says, whatever stands between its words; the time taken, in brackets, is left out."""
    return sorted(re.findall(r"[^\s:,]+", re.sub(r"\(.*\)", "", line)))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", CUSTOM_LAYOUTS)
def test_the_example_of_each_protocol_runs(protocol, tmp_path, monkeypatch, capsys):
    section = SECTIONS[protocol]
    for name, text in FILE.findall(section):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    ((command, printed),) = COMMAND.findall(section)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sciprism", *command.split()])
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, capsys.readouterr().err
    said = [words(line) for line in capsys.readouterr().err.splitlines()]
    assert printed.strip() and all(words(line) in said for line in printed.splitlines()), said
    results = [json.loads(path.read_text()) for path in (tmp_path / "my-results").rglob("*.json")]
    assert {result["status"] for result in results} == {"done"}
    assert len(results) == len(printed.splitlines())


def test_the_page_names_every_protocol_and_every_needed_key():
    assert set(CUSTOM_LAYOUTS) < set(SECTIONS) and f"{TEST_SHARE:.0%}" in PAGE
    assert all(f"\n| `{name}` |" in PAGE for name in (*REQUIRED, *CUSTOM_LAYOUTS))


def test_the_python_blocks_run(tmp_path, monkeypatch, capsys):
    for name, text in FILE.findall(SECTIONS["retrieve"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", SECTIONS["In Python"], re.S):
        exec(compile(block, "custom-tasks.md", "exec"), names)
    assert {"letter-counts", "shared-words", "bm25"} <= set(capsys.readouterr().out.split())
    results = names["results"]
    assert results["ozone", "bm25"] == results["search/ozone", "bm25"] == pytest.approx(2 / 3)
    assert set(tmp_path.rglob("*")) == before, "no file is left"

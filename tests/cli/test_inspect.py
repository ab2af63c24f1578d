import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sciprism.cli.main import app
from sciprism.errors import RunFailedError, ShownWarning


def run(*arguments: str | Path, **more: object) -> Result:
    return CliRunner().invoke(app, ["inspect", *(str(argument) for argument in arguments)], **more)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    path = tmp_path / "papers.jsonl"
    rows = [{"id": f"p{n}", "title": f"Paper {n}", "venue": "Notes [new]", "year": 1950 + n} for n in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    return path


def test_table(papers: Path):
    result = run(papers)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any(line.split() == ["papers", "61"] for line in lines)
    assert any(line.split() == ["without", "abstract", "61", "(100.0", "%)"] for line in lines)
    assert any("Notes [new] 61" in line for line in lines)
    assert any(line.startswith("years") and "1950s " in line for line in lines)
    assert any("duplicates" in line and "1, of 1 paper;" in line for line in lines)
    assert any("about 1 s at 50 papers/s" in line for line in lines)


def test_guessed_and_chosen_encodings(tmp_path: Path):
    path = tmp_path / "refs.ris"
    path.write_bytes("TY  - JOUR\nTI  - Dvořák\nER  - \n".encode("cp1250"))
    with pytest.warns(ShownWarning, match=r"refs\.ris: not UTF-8, read as cp1250, a guess; `embed"):
        run(path)
    assert json.loads(run(path, "--encoding", "cp1252", "--json").stdout)["files"][0]["note"] == "read as cp1252"


def test_bad_records_are_named_on_standard_error_and_make_the_status_1(tmp_path: Path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "1", "title": "T"}\n' + "{broken\n" * 13)
    result = run(path)
    assert isinstance(result.exception, RunFailedError) and "13 records cannot be used" in str(result.exception)
    assert "record 2 (line 2)" in result.stderr and "papers" in result.stdout
    result = run(path, "--skip-bad", "--json")
    assert json.loads(result.stdout)["skipped"] == 13
    assert result.stderr.count("skipped: ") == 11
    assert "bad.jsonl, record 11 (line 11)" in result.stderr
    assert "skipped: 3 more" in result.stderr


def test_many_files_are_counted_and_not_all_listed(tmp_path: Path):
    for number in range(33):
        (tmp_path / f"{number:02}.jsonl").write_text('{"id": "1", "title": "T"}\n')
    assert "and 3 more" in run(tmp_path).stdout
    assert len(json.loads(run(tmp_path, "--json").stdout)["files"]) == 33

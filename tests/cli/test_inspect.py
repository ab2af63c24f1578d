import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sciprism.cli.main import app
from sciprism.errors import InputError, RunFailedError, ShownWarning


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
    assert any("1 in 1 groups, found by: id 1" in line for line in lines)
    assert any("about 1 s at 50 papers/s" in line for line in lines)


def test_ids_of_several_papers_are_named(tmp_path: Path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"id,title\n1,Paper of {name}\n")
    shown = " ".join(run(tmp_path).stdout.split())
    assert "ids of several papers 1; `sciprism embed` needs other ids" in shown and "duplicates" not in shown
    assert f"{tmp_path}/b.csv,record1(line2)" in shown.replace(" ", "")
    assert "clashes" in (rows := json.loads(run(tmp_path, "--json").stdout)) and len(rows["clashes"]) == 1
    assert json.loads(run(tmp_path, "--json", "--ids-per-file").stdout)["clashes"] == []


def test_columns_that_nothing_reads_are_listed(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("Title,Stage,Year,PubYear,Tags,Notes\nT,2,2001,2001,x,y\n")
    assert "columns not read Stage, Notes" in " ".join(run(path).stdout.split())
    assert json.loads(run(path, "--json").stdout)["files"][0]["unread_columns"] == ["Stage", "Notes"]
    (tmp_path / "b.csv").write_text("Title,Year\nU,2002\n")
    assert "a.csv:Stage,Notes" in "".join(run(tmp_path).stdout.split())
    assert "columns not read" not in run(tmp_path / "b.csv").stdout


def test_guessed_and_chosen_encodings(tmp_path: Path):
    path = tmp_path / "refs.ris"
    path.write_bytes("TY  - JOUR\nTI  - Dvořák\nER  - \n".encode("cp1250"))
    with pytest.warns(ShownWarning, match=r"refs\.ris: not UTF-8, read as cp1250, a guess; `embed"):
        run(path)
    assert json.loads(run(path, "--encoding", "cp1252", "--json").stdout)["files"][0]["note"] == "read as cp1252"
    error = run(path, "--encoding", "windows-1251x").exception
    assert isinstance(error, InputError) and "unknown encoding 'windows-1251x'" in str(error)


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


def test_reader_and_columns(tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text("Headline,Jahr\nOn wrack,1970\n")
    result = run(path, "--reader", "tables", "--columns", "title=Headline", "--columns", "year=Jahr", "--json")
    assert json.loads(result.stdout)["years"] == {"1970": 1}


def test_many_files_are_counted_and_not_all_listed(tmp_path: Path):
    for number in range(33):
        (tmp_path / f"{number:02}.jsonl").write_text('{"id": "1", "title": "T"}\n')
    assert "and 3 more" in run(tmp_path).stdout
    assert len(json.loads(run(tmp_path, "--json").stdout)["files"]) == 33

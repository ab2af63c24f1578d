"""No command writes over what it reads, or over a file of a person that was not named: a walk over all that write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build_commands import run
from fake_encoder import FakeEncoder, some_papers
from sciprism.encoders.encoder import Encoder
from sciprism.papers import read_papers
from sciprism.store import embed

MINE = "mine\n"
TOGETHER = [
    # command, and the files that it writes together with the named one
    ("export in/vecs -o out/all.npy", ["all.csv"]),
    ("recommend --library in/a.jsonl --new in/b.jsonl -o out/r.csv", ["r-left-out.csv"]),
    ("recommend --library in/a.jsonl --new in/b.jsonl -o out/r", ["r.csv", "r.jsonl", "r.bib", "r-left-out.csv"]),
    ("match assign in/a.jsonl --reviewers in/profiles -o out/a.csv", ["a.conflicts.csv", "a.details.json"]),
    ("match assign in/a.jsonl --reviewers in/profiles -o out/a.csv", ["a.audit.json"]),
    ("embed in/a.jsonl -o out", ["notes.txt"]),
    ("tag train in/a.jsonl --vocabulary in/labels.csv -o out", ["notes.txt"]),
    ("tokenizer train in/a.jsonl -o out --vocab-size 300", ["model.safetensors"]),
    ("export sciprism-small -o out", ["config.json"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with inputs of all commands, where no model may be loaded: refusals come before the work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Encoder, "load", lambda *_, **__: FakeEncoder())
    Path("in/profiles").mkdir(parents=True)
    Path("out").mkdir()
    rows = "".join(json.dumps(paper.to_json()) + "\n" for paper in some_papers(3))
    for name in ("a.jsonl", "b.jsonl", "profiles/r.jsonl"):
        Path("in", name).write_text(rows)
    for name in ("a.csv", "labels.csv", "c-left-out.csv", "results.json"):
        Path("in", name).write_text("id,name,title\na,halos,Halos\n")
    embed(read_papers("in/a.csv"), FakeEncoder(), "in/vecs")  # type: ignore[arg-type]
    return tmp_path


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize(("words", "names"), TOGETHER, ids=[words for words, _ in TOGETHER])
def test_a_file_that_was_not_named_stays(folder, monkeypatch, capsys, words: str, names: list[str]) -> None:
    for name in names:
        (folder / "out" / name).write_text(MINE)
        before = read_files(folder)
        status, _, err = run(monkeypatch, capsys, *words.split())
        assert status == 2 and read_files(folder) == before, err
        assert "name" in err, "the message says what to do"
        (folder / "out" / name).unlink()


@pytest.mark.parametrize("words", ["export in/vecs -o in/a.csv", "export in/vecs -o in/a.npy"])
def test_the_files_of_a_collection_stay(folder, monkeypatch, capsys, words: str) -> None:
    before = read_files(folder)
    status, _, err = run(monkeypatch, capsys, *words.split())
    assert status == 2 and read_files(folder) == before, err

"""Abstracts of other files, and papers that stay without one."""

import json
from pathlib import Path

import pytest

from build_commands import run
from sciprism.papers import Paper
from sciprism.papers.read import AbstractCompletion, AbstractIndex

REFS = """
@article{a, title={Uptake of carbon by wrack}, doi={10.9999/TIDAL.1}, year=1999}
@article{b, title={Tides in small harbours: a survey}, year=2001}
@article{c, title={Old tides}, year=1850}
@article{d, title={Editorial}}
@article{e, title={Own words}, abstract={Its own.}}
"""
OTHERS = [
    {"id": "x1", "title": "Another title of it", "abstract": "By DOI.", "doi": "https://doi.org/10.9999/tidal.1"},
    {"id": "x2", "title": "TIDES in Small Harbours - A Survey", "abstract": "By title.", "year": 2000},
    {"id": "x3", "title": "Old tides", "abstract": "Of another year.", "year": 1950},
    {"id": "d", "title": "On frogs", "abstract": "An id that is equal by chance."},
    {"id": "x5", "title": "Editorial", "abstract": "Of another editorial."},
    {"id": "e", "title": "Own words", "abstract": "Not needed."},
    {"id": "x6", "title": "Old tides"},
]
NEEDED = {"a": "By DOI.", "b": "By title.", "c": "", "d": "", "e": "Its own."}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("refs.bib").write_text(REFS)
    Path("others.jsonl").write_text("".join(json.dumps(row) + "\n" for row in OTHERS) + "broken\n")


def test_inspect_counts_what_can_be_joined_and_why_not(files, monkeypatch, capsys) -> None:
    status, shown, errors = run(monkeypatch, capsys, "inspect", "refs.bib", "--abstracts", "others.jsonl")
    assert status == 0 and "others.jsonl: 1 of 8 records cannot be used" in errors
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "without abstract 2 (40.0 %)" in lines and "abstracts joined 2 (doi 1, title 1)" in lines
    assert {"1 its title is of another year there: c", "1 its id has another title there: d"} <= set(lines)
    _, shown, _ = run(monkeypatch, capsys, "inspect", "refs.bib", "--abstracts", "others.jsonl", "--json")
    assert json.loads(shown)["abstracts"]["joined"] == {"doi": 1, "title": 1}


def test_embed_joins_skips_or_fails(files, monkeypatch, capsys, tiny_model) -> None:
    from sciprism.store import StoredCollection

    def embed(*more: str) -> tuple[int, str, str]:
        model = ("--model", str(tiny_model), "--pooling", "mean")
        return run(monkeypatch, capsys, "embed", "refs.bib", "-o", "vecs", *model, *more)

    status, _, errors = embed("--missing-abstract", "fail", "--abstracts", "others.jsonl")
    assert status == 2 and "refs.bib, record 3 (line 4): paper 'c' has no abstract; add it, give --abstracts" in errors
    assert not any(Path("vecs").glob("papers/*"))
    status, shown, errors = embed("--missing-abstract", "skip", "--abstracts", "others.jsonl")
    assert status == 0 and "read 5 papers: 3 new, 2 without abstract and skipped" in shown
    assert "abstracts joined: 2 (doi 1, title 1)" in errors
    assert "skipped, without abstract: 1 its id has another title there: d" in errors
    status, shown, _ = embed("--abstracts", "others.jsonl", "--json")
    assert json.loads(shown)["abstracts"]["missing"]["its id has another title there"]["count"] == 1
    opened = StoredCollection.open("vecs")
    assert {paper.id: paper.abstract for paper in opened.papers(range(opened.rows))} == NEEDED


def join(rows: str, *papers: Paper) -> tuple[list[str], AbstractCompletion]:
    Path("abstracts.csv").write_text(rows)
    with AbstractIndex(["abstracts.csv"]) as index:
        completion = AbstractCompletion(index)
        return [paper.abstract for paper in completion.complete(papers)], completion


def test_a_table_needs_no_titles_and_the_same_year_decides(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    papers = Paper(id="a", title="T"), Paper(id="b", title="U", ids={"pmid": "77"}), Paper(id="z", title="V")
    found, done = join("id,abstract,pmid\na,By id,\nq,By PMID,77\n", *papers)
    assert found == ["By id", "By PMID", ""] and done.report.joined == {"id": 1, "pmid": 1}
    assert done.report.missing.ids == {"not in the file of abstracts": ["z"]}
    twice = "title,abstract,year\nTides,First,2000\ntides,Second,2001\n"
    found, done = join(twice, Paper(id="1", title="Tides"), Paper(id="2", title="Tides", year=2001))
    assert found == ["", "Second"] and done.report.missing.ids == {"its title has several abstracts there": ["1"]}


def test_no_chapter_gets_the_abstract_of_another_under_the_doi_of_the_book(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "title,authors,doi,abstract\nCounting frogs,Alder Ann,10.5555/book,Of frogs.\n"
    rows += "Plants on water,Birch Bo,10.5555/book,\n"
    papers = [Paper(id=name, title=name, ids={"doi": "10.5555/book"}) for name in ("Fish of ponds", "Counting frogs")]
    abstracts, completion = join(rows, *papers)
    assert abstracts == ["", "Of frogs."] and completion.report.joined == {"title": 1}
    assert completion.report.missing.ids == {"its identifier is of several papers": ["Fish of ponds"]}

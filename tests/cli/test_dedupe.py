"""`sciprism dedupe` as a person runs it: files in, a merged file and counts by source out."""

import pytest

from build_commands import run

RIS = "TY  - JOUR\nTI  - {}\nAU  - Alder, A\nJO  - Ponds\nPY  - 2010\nVL  - 3\nSP  - {}\nEP  - 19\nER  - \n"
CSV = """Title,Authors,Source title,Year,Volume,Page start,Page end
GROWTH OF FROGS IN MANY PONDS,Alder A.,Ponds,2010,3,11,19
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """A folder with the exports of two databases, and a way to run the command in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ris").write_text(RIS.format("Growth of frogs in many ponds", 11) + RIS.format("Sleep of toads", 1))
    (tmp_path / "b.csv").write_text(CSV)
    (tmp_path / "empty.ris").write_text("")
    return lambda *words: run(monkeypatch, capsys, "dedupe", *words)


def test_duplicates_are_counted_by_source(command, tmp_path):
    status, out, err = command("a.ris", "b.csv", "-o", "merged.bib")
    assert status == 0, err
    assert [line.split() for line in out.splitlines()[1:4]] == [
        ["a.ris", "2", "0"],
        ["b.csv", "1", "1"],
        ["all", "3", "1"],
    ]
    assert "merged from: a.ris, record 1 (line 1); b.csv, record 1 (line 2)" in (tmp_path / "merged.bib").read_text()


def test_embed_merges_duplicates(command, tmp_path, monkeypatch, capsys):
    (tmp_path / "c.csv").write_text(CSV.replace("FROGS IN", "FROG IN"))
    words = ("a.ris", "c.csv", "-o", "vecs", "--merge-duplicates")
    status, out, err = run(monkeypatch, capsys, "embed", *words)
    assert status == 0, err
    assert "read 3 papers: 2 new, 1 duplicate merged" in out and "vecs holds 2 papers" in out
    for more in ("--corrections", "--part=1/2"):
        assert run(monkeypatch, capsys, "embed", *words, more)[0] == 2

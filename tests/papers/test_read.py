import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_labels, read_papers
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.read import MAX_DETAILED

BIB = "@article{a, title={From BibTeX}}\n"
RIS = "TY  - JOUR\nTI  - From RIS\nER  - \n"
LINE = json.dumps({"id": "j", "title": "From JSON lines", "abstract": "Text"}) + "\n"


def titles(paths: object, **choices: object) -> list[str]:
    return [paper.title for paper in read_papers(paths, **choices)]  # type: ignore[arg-type]


def test_files_and_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.ris").write_text(RIS)
    (tmp_path / "deep" / "a.bib").write_text(BIB)
    (tmp_path / "deep" / "er" / "z.jsonl").write_text(LINE)
    (tmp_path / "deep" / "er" / "pubmed.txt").write_text("PMID- 1\nTI  - From PubMed\n")
    (tmp_path / "deep" / "er" / "words.txt").write_text("Words")
    (tmp_path / "deep" / "er" / "empty.txt").touch()
    (tmp_path / "README.md").write_text(BIB)
    (tmp_path / "deep" / "picture.png").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "deep" / "notes.json").write_text('{"no": "paper"}')
    report = ReadReport()
    assert titles([tmp_path], report=report) == [*("From RIS", "From BibTeX", "From PubMed", "From JSON lines")]
    assert report.ignored == 5
    assert [file.format for file in report.files] == ["ris", "bibtex", "nbib", "jsonl"]
    assert titles([tmp_path], reader="ris") == ["From RIS"]
    assert titles([tmp_path / "deep" / "a.bib", str(tmp_path / "b.ris")]) == ["From BibTeX", "From RIS"]
    assert titles(tmp_path / "b.ris") == ["From RIS"]


def test_reader_can_be_named(read) -> None:
    papers, report = read("table.dat", "title\nOnly a title\n", reader="tables")
    assert papers[0].title == "Only a title"
    assert report.files[0].format == "tables"


def test_bad_record_stops_the_reading_or_is_counted(read) -> None:
    text = BIB + "@misc{b, year={2000}}\n" + BIB.replace("{a,", "{c,")
    with pytest.raises(InputError) as error:
        read("refs.bib", text)
    assert str(error.value).endswith("refs.bib, record 2 (line 2): no title and no abstract; fix it or pass --skip-bad")
    papers, report = read("refs.bib", text, skip_bad=True)
    assert [paper.id for paper in papers] == ["a", "c"]
    assert (report.papers, report.skipped_count, report.files[0].skipped) == (2, 1, 1)
    assert str(report.skipped[0]).endswith("refs.bib, record 2 (line 2): no title and no abstract")


def test_only_the_first_skipped_records_are_kept(read) -> None:
    _, report = read("many.jsonl", LINE + "broken\n" * (MAX_DETAILED + 500), skip_bad=True)
    assert report.skipped_count == MAX_DETAILED + 500
    assert len(report.skipped) == MAX_DETAILED


@pytest.mark.parametrize("data", [b"", b" \n\r\n", b"\x00\x00", b"\xef\xbb\xbf"])
def test_empty_file(read, data: bytes) -> None:
    with pytest.raises(InputError, match=r"empty\.bib: the file is empty"):
        read("empty.bib", data)
    papers, report = read("empty.bib", data, skip_bad=True)
    assert (papers, report.skipped_count) == ([], 1)


def test_labels_are_read_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "a", "name": "<i>Alpha</i>"}\n{"id": "b"}\n{"id": "c", "name": "Gamma"}\n')
    report = ReadReport()
    labels = list(read_labels([path], skip_bad=True, report=report))
    assert [label.name for label in labels] == ["Alpha", "Gamma"]
    assert (report.papers, report.skipped_count) == (2, 1)
    with pytest.raises(InputError, match=r"record 2 \(line 2\): no name"):
        list(read_labels([path]))


def test_places_and_ids_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = "id,title,doi\n1,One,\n,Two,10.1/b\n"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.csv").write_text(table)
    monkeypatch.chdir(tmp_path)
    one, two = Path("a/k.csv"), Path("b/k.csv")

    def ids(*paths: Path, **options: object) -> list[str]:
        return [paper.id for paper in read_papers(paths, options=ReadOptions(**options))]

    places = [str(paper.place) for paper in read_papers([one])]
    assert places == ["a/k.csv, record 1 (line 2)", "a/k.csv, record 2 (line 3)"]
    assert ids(one, one, ids_per_file=True) == ["k.csv:1", "doi:10.1/b"] * 2
    assert ids(Path(), ids_per_file=True) == ["a/k.csv:1", "doi:10.1/b", "b/k.csv:1", "doi:10.1/b"]
    with pytest.raises(InputError, match=r"a/k.csv and b/k.csv would have the same ids.*name the folder"):
        ids(one, two, ids_per_file=True)
    with pytest.raises(InputError, match="needs the name of a file"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(table.encode())))
        ids(Path("-"), ids_per_file=True)

"""Annif's corpora: texts with subjects, in files, which are files of papers, and in folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.uses.tagging.tag_files import is_annif_folder, read_annif_folder

X = "http://example.org/x/"
TSV = f"Waves of storms\t<{X}1> <{X}2>\n\nCalm days\t{X}2\nUntagged\t\n"
CSV = f'text,subject_uris,document_id,title\nWaves of storms,<{X}1> {X}2,,\n"Calm days",{X}2,,\nUntagged,,,\n'
OBJECTS = [
    {"text": "Waves of storms", "subjects": [{"uri": f"{X}1"}, {"label": "wind", "uri": f"{X}2"}]},
    {"text": "Calm days", "subjects": [{"uri": f"<{X}2>"}]},
    {"text": "Untagged", "metadata": {"year": "1999"}},
]
JSON_LINES = "".join(json.dumps(row) + "\n" for row in OBJECTS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.tsv", TSV),
        ("reversed.tsv", "Untagged\t\n" + TSV.replace("Untagged\t\n", "")),
        ("tabs.txt", TSV.replace("> <", ">\t<")),
        ("mark.tsv", "\ufeff" + TSV.replace("\n", "\r\n")),
        ("c.csv", CSV),
        ("c.jsonl", JSON_LINES),
    ],
)
def test_corpora_in_every_form(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    report = ReadReport()
    papers = list(read_papers(path, report=report))
    found = {paper.title: paper.keywords for paper in papers}
    assert found == {"Waves of storms": (f"{X}1", f"{X}2"), "Calm days": (f"{X}2",), "Untagged": ()}
    assert len({paper.id for paper in papers}) == 3
    assert (report.files[0].format, report.files[0].note) == ("annif", "1 untagged document (sha1:32ff1c7defcf)")


@pytest.mark.parametrize(
    "text",
    [
        "title\tabstract\nA\tB\n",
        "title\turl\nA\thttp://x/1\n",
        "<a>x</a>\t<b>\n",
        '{"title": "x"}\n',
        '{"text": "x", "title": "y", "subjects": ["a"]}\n',
        "@article{x,\n\turl = {http://x/1}}\n",
        "plain text\n",
    ],
)
def test_other_files_are_none(tmp_path: Path, text: str):
    (tmp_path / "file.json").write_text(text)
    assert not paper_readers["annif"].recognizes(text) and not is_annif_folder(tmp_path)


def test_lines_that_cannot_be_used_stop_or_are_counted(tmp_path: Path):
    path, report = tmp_path / "c.tsv", ReadReport()
    path.write_text(TSV + f"no tab\n\t<{X}1>\n")
    with pytest.raises(InputError, match=r"c.tsv, record 4 \(line 5\): no tab .*; fix it or pass --skip-bad"):
        list(read_papers(path))
    assert len(list(read_papers(path, report=report, skip_bad=True))) == 3
    reasons = [skipped.reason for skipped in report.skipped]
    assert reasons == ["no tab between the text and its subjects", "no title and no abstract"]
    report = ReadReport()
    (tmp_path / "c.jsonl").write_text(JSON_LINES + '{"text": "x", "metadata": ["y"]}\n{"text"\n{"text": " "}\n')
    assert len(list(read_papers(tmp_path / "c.jsonl", report=report, skip_bad=True))) == 3
    assert report.skipped_count == 3


def test_folders_of_full_texts(tmp_path: Path):
    files = {
        "a.txt": "Waves of storms\n\nThey are high.\nVery.",
        "a.tsv": f"<{X}1>\twaves\n{X}2\twind\n\n",
        "a.key": "calm\n",
        "b.txt": "\ufeffCalm days",
        "b.key": "calm\r\nno wind\r\n",
        "c.txt": "Untagged",
        "d.json": json.dumps(
            {"document_id": "D", "text": "Long text.", "metadata": {"title": "Short"}, "subjects": []}
        ),
        "e.key": "alone\n",
        "f.json": "[]",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    dropped = DropReport()
    assert is_annif_folder(tmp_path)
    with pytest.raises(InputError, match=r"f\.json: not a document in Annif's JSON"):
        read_annif_folder(tmp_path)
    papers = read_annif_folder(tmp_path, dropped=dropped, skip_bad=True)
    assert [(paper.id, paper.title, paper.abstract) for paper in papers] == [
        ("a", "Waves of storms", "They are high. Very."),
        ("b", "Calm days", ""),
        ("c", "Untagged", ""),
        ("D", "Short", "Long text."),
    ]
    assert [paper.keywords for paper in papers] == [(f"{X}1", f"{X}2"), ("calm", "no wind"), (), ()]
    assert [dropped.count(reason) for reason in dropped.ids] == [1, 1]

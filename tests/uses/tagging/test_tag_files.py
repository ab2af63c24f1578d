"""Tags in files, and suggested tags written to files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from build_tagging import build_vocabulary
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import read_papers
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.suggestions import PaperTags, Tag
from sciprism.uses.tagging.tag_files import (
    Judgement,
    choose_format,
    read_judgements,
    read_tag_table,
    resolve_tags,
    write_tags,
)
from sciprism.uses.tagging.vocabulary import Vocabulary

PAPERS = [Paper(id="a", title='Of "quotes", commas', abstract="Two\nlines."), Paper(id="b", title="None")]
TAG = Tag(rank=1, uri="http://x/1", notation="N1", label="Dark, matter", probability=0.91234, why="found in title: 'x'")
TAGGED = [PaperTags("a", 'Of "quotes", commas', (TAG,)), PaperTags("b", "None", ())]


def write(folder: Path, name: str) -> str:
    write_tags(folder / name, choose_format(folder / name, ""), zip(PAPERS, TAGGED, strict=True))
    return (folder / name).read_text(encoding="utf-8")


def test_a_csv_comes_back_as_tags_and_as_judgements(tmp_path: Path):
    [row] = csv.DictReader(write(tmp_path, "tags.csv").splitlines())
    assert row["probability"] == "0.9123" and row["label"] == "Dark, matter" and row["title"] == 'Of "quotes", commas'
    assert read_tag_table(tmp_path / "tags.csv") == {"a": ["http://x/1"]}
    with pytest.raises(InputError, match="no verdict; write yes or no"):
        read_judgements(tmp_path / "tags.csv")
    text = (tmp_path / "tags.csv").read_text()
    (tmp_path / "tags.csv").write_text(text.rstrip("\n") + "No\n")
    assert read_judgements(tmp_path / "tags.csv") == [Judgement("a", "http://x/1", False)]
    assert read_tag_table(tmp_path / "tags.csv") == {}, "a rejected tag is none"


def test_papers_of_a_tag_table_have_the_ids_of_read_papers(tmp_path: Path):
    (tmp_path / "tags.csv").write_text("paper,uri\n12.0,http://x/1\nnan,http://x/2\n12.0,NA\n")
    assert read_tag_table(tmp_path / "tags.csv") == {"12": ["http://x/1", "NA"]}  # a label may be called NA


def test_annif_shapes(tmp_path: Path):
    results = json.loads(write(tmp_path, "tags.json"))
    expected = {"uri": "http://x/1", "label": "Dark, matter", "notation": "N1", "score": 0.91234}
    assert results == [{"document_id": "a", "results": [expected]}, {"document_id": "b", "results": []}]
    assert write(tmp_path, "tags.tsv") == 'Of "quotes", commas Two lines.\t<http://x/1>\nNone\t\n'
    papers = list(read_papers(tmp_path / "tags.tsv"))
    assert [paper.title for paper in papers] == ['Of "quotes", commas Two lines.', "None"]
    assert [paper.keywords for paper in papers] == [("http://x/1",), ()]


def test_json_lines(tmp_path: Path):
    first, second = map(json.loads, write(tmp_path, "tags.jsonl").splitlines())
    assert first["id"] == "a" and first["tags"][0]["why"] == "found in title: 'x'" and second["tags"] == []


def test_unknown_formats_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"no format is known for \.xlsx"):
        choose_format(tmp_path / "tags.xlsx", "")
    with pytest.raises(InputError, match="format 'xml' is not one of csv"):
        choose_format(tmp_path / "tags.csv", "xml")
    assert choose_format(tmp_path / "tags.txt", "csv") == "csv"


def test_tags_are_resolved_and_unknown_ones_counted():
    named = [["Galaxies", "t1", "nothing"], ["nothing"], []]
    rows, report = resolve_tags(named, build_vocabulary())
    assert rows == [[0, 1], [], []]
    assert (report.tags, report.unknown["nothing"], report.untagged) == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paper,title\na,x\n", "no column 'uri'"),
        ("uri,verdict\nx,yes\n", "no column 'paper'"),
        ("paper,uri,verdict\na,x,perhaps\n", "line 2: the verdict 'perhaps' is neither yes nor no"),
        ("paper,uri\na,x\n", "no column 'verdict'"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, message: str):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_judgements(path)


def test_rows_that_are_not_used_are_counted(tmp_path: Path):
    path, dropped = tmp_path / "t.csv", DropReport()
    path.write_text("paper,uri,verdict\na,<x>,yes\n,y,yes\na,,no\na,z,NA\nb,x,no\n")
    assert read_judgements(path, dropped) == [Judgement("a", "x", True), Judgement("b", "x", False)]
    assert str(dropped) == "row without a paper or a tag 2, row without a verdict 1"
    dropped = DropReport()
    assert read_tag_table(path, dropped) == {"a": ["x", "z"]}
    assert str(dropped) == "row without a paper or a tag 2, row that a person rejected 1"


def test_names_of_several_labels_are_not_unknown():
    labels = [Label(id="p", name="Mercury"), Label(id="e", name="mercury "), Label(id="h", name="God", synonyms=("x",))]
    rows, report = resolve_tags([["Mercury", "<p>", "X"], ["MERCURY"]], Vocabulary(labels))
    assert rows == [[0, 2], []] and not report.unknown and report.untagged == 1
    assert report.to_json()["ambiguous"] == {"Mercury": 1, "MERCURY": 1} and report.homonyms["Mercury"] == ["p", "e"]


def test_a_broader_label_that_means_none_is_not_missed():
    labels = [Label(id="a", name="x", broader=("NA",)), Label(id="b", name="y", broader=("gone",))]
    assert Vocabulary(labels).notes == ["1 broader labels are not in the vocabulary; they are ignored"]

"""Triplets of ids, and the file with their papers."""

import json

import pytest

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.training.examples import Example, read_examples
from sciprism.training.paper_lookup import PaperLookup
from sciprism.training.source_spec import SourceSpec
from sciprism.training.sources import ExampleSource

PAPERS = [Paper(id=name, title=f"On {name}", fields=("Physics",)) for name in ("a", "b", "ç")]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def triplets(tmp_path):
    write_lines(tmp_path / "papers.jsonl", [paper.to_json() for paper in PAPERS])
    rows = [
        {"query": "a", "positive": "ç", "negative": "b", "kind": "random"},
        {"query": "b", "positive": "a"},
    ]
    return write_lines(tmp_path / "train.jsonl", rows)


def test_triplets_of_ids_are_examples(triplets):
    a, b, c = PAPERS
    expected = [Example(a, (c,), (b,)), Example(b, (a,))]
    assert list(read_examples(triplets, query="paper", candidate="paper")) == expected
    source = ExampleSource(SourceSpec(file=triplets, format="proximity"))
    assert len(source) == 2 and list(source.examples([1, 0])) == expected[::-1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "x", "positive": "a"}, "record 1: its query 'x' is not a paper of papers.jsonl"),
        ({"query": "a", "positive": "a", "negative": 3}, "its negative 3 is not a paper"),
        ({"positive": "a"}, "its query None is not a paper"),
    ],
)
def test_a_paper_that_is_not_there(row, message, triplets):
    with pytest.raises(InputError, match=message):
        list(read_examples(write_lines(triplets, [row]), query="paper", candidate="paper"))


def test_papers_that_cannot_be_read(triplets):
    papers = triplets.parent / "papers.jsonl"
    papers.write_text('{"id": "a"}\n[]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"papers\.jsonl, line 2: not a paper"):
        PaperLookup(papers)["a"]
    papers.unlink()
    with pytest.raises(InputError, match="does not exist; triplets of ids need their papers in this file"):
        list(read_examples(triplets, query="paper", candidate="paper"))

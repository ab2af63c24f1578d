"""Papers with labels: kinds of targets, splits given and drawn, and what is wrong with tables."""

import json

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.custom import LabelledTable
from sciprism.errors import InputError

HEAD = "id,title,label,split\n"
FOUR = HEAD + "1,Dark matter,physics,train\n2,Cells,biology,train\n3,Light,physics,test\n4,Genes,biology,Valid\n"


@pytest.fixture
def table(tmp_path):
    """Write a file and read it with some settings."""

    def read(text, name="papers.csv", **settings):
        (tmp_path / name).write_text(text)
        return LabelledTable(data=str(tmp_path / name), **settings).read(DataRoot())

    return read


def test_classes_with_a_split(table):
    found = table(FOUR)
    assert found.ids == ["1", "2", "3", "4"] and found.targets == ["physics", "biology", "physics", "biology"]
    assert (found.train.tolist(), found.test.tolist(), found.dev.tolist()) == ([0, 1], [2], [3])
    assert found.items[0].title == "Dark matter" and found.groups is None
    assert found.dropped.count("class of training papers without a test paper") == 1
    assert not any("sampled" in reason for reason in found.dropped.to_json())


@pytest.mark.parametrize("as_list", [False, True])
def test_several_classes(table, as_list):
    labels = [["a", "b"], ["b"], ["a"]]
    records = [
        {"id": n, "title": "T", "label": label if as_list else ";".join(label), "split": part}
        for n, (label, part) in enumerate(zip(labels, ["train", "train", "test"], strict=True))
    ]
    found = table("\n".join(map(json.dumps, records)), "papers.jsonl")
    assert found.targets == [("a", "b"), ("b",), ("a",)]


def test_numbers(table):
    found = table("id,title,cites,split\n1,A,3,train\n2,B,4.5,test\n3,C,-1e2,train", label="cites", target="number")
    assert found.targets == [3.0, 4.5, -100.0]
    with pytest.raises(InputError, match="line 3: cites: 'many' is not a number"):
        table("id,title,cites\n1,A,3\n2,B,many\n", label="cites", target="number")


def test_groups_and_the_positive_class(table):
    text = "id,title,label,topic,split\n1,A,yes,x,train\n2,B,no,x,train\n3,C,yes,y,test\n"
    found = table(text, group="topic", positive="yes")
    assert found.groups == ["x", "x", "y"] and found.positive == "yes"
    with pytest.raises(InputError, match="positive class 'YES'; known: no, yes"):
        table(text, positive="YES")


def test_a_folder_of_parts_and_texts_elsewhere(tmp_path):
    (tmp_path / "refs.bib").write_text("".join(f"@misc{{p{n}, title={{Paper {n}}}}}\n" for n in range(5)))
    (tmp_path / "data").mkdir()
    for part, rows in (("train", "p0,a\np1,b\n"), ("validation", "p2,a\n"), ("test", "p3,b\nlost,a\n")):
        (tmp_path / "data" / f"{part}.csv").write_text("id,label\n" + rows)
    found = LabelledTable(data=str(tmp_path / "data"), papers=(str(tmp_path / "refs.bib"),)).read(DataRoot())
    assert found.ids == ["p0", "p1", "p2", "p3"] and found.items[3].title == "Paper 3"
    assert (found.train.tolist(), found.dev.tolist(), found.test.tolist()) == ([0, 1], [2], [3])
    assert found.dropped.to_json()["label of an unknown paper"] == {"count": 1, "first": ["lost"]}


def test_without_a_split_one_is_drawn_and_told(table):
    rows = "".join(f"{n},Title {n},{'ab'[n % 2]}\n" for n in range(40))
    found = table("id,title,label\n" + rows)
    assert len(found.train) == 28 and len(found.test) == 12
    assert sorted(found.targets[row] for row in found.test) == ["a"] * 6 + ["b"] * 6
    reason, note = next((r, n) for r, n in found.dropped.to_json().items() if "sampled" in r)
    assert "30% of a class sampled as test by a hash" in reason and note["count"] == 12
    again = table("id,title,label\n" + "".join(reversed(rows.splitlines(keepends=True))))
    assert {again.ids[row] for row in again.test} == {found.ids[row] for row in found.test}


def test_papers_without_label_and_repeated_ones_are_counted(table):
    found = table(FOUR + "5,Blank, ,train\n1,Dark matter,physics,train\n")
    assert found.ids == ["1", "2", "3", "4"]
    assert found.dropped.count("no label") == found.dropped.count("duplicate label of a paper") == 1


@pytest.mark.parametrize(
    "text, message",
    [
        (FOUR + "1,Dark matter,biology,train", "line 6: paper 1 occurs again with another label or split"),
        (FOUR + "1,Dark matter,physics,test", "line 6: paper 1 occurs again"),
        (FOUR + "5,Late,physics,later", "line 6: unknown split 'later'; known: train, dev, val"),
        (FOUR + "5,None,physics,", "line 6: no split, but other rows have one"),
        (FOUR + ",None,physics,train", "line 6: no id"),
        ("id,title,lable\n1,A,x", "line 2: no label; the row has id, title, lable"),
        (HEAD + "1,A,x,train\n2,B,y,train", "no test paper with a label"),
        (HEAD + "1,A,x,train\n2,B,x,train\n3,C,y,test", r"the training papers have one class \(x\)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(table, text, message):
    with pytest.raises(InputError, match=message):
        table(text)


def test_a_class_that_was_never_seen_is_counted(table):
    found = table(FOUR + "5,New,chemistry,test\n")
    assert found.dropped.to_json()["class of test papers without a training paper"]["first"] == ["chemistry"]

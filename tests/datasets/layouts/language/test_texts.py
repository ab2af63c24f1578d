"""Texts of one and two segments: LinkBERT's JSON lines, open copies."""

import pytest

from build_data import counted, lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.texts import LabelledTexts, PartFiles
from sciprism.errors import InputError

FILES = PartFiles(folders=("set", "set_hf"))
BOTH = ("train", "test")


def read(folder, **more):
    return LabelledTexts(files=FILES, **more).read(DataRoot(folder))


def objects(folder, rows):
    for part in BOTH:
        lines(folder / f"LinkBERT/data/seqcls/set_hf/{part}.json", rows)
    return folder


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([("8", "a", "b", "maybe"), ("9", "c", "", "no")], ("sentence1", "sentence2", "label")),
        ([("8", "a", "b", "maybe"), ("9", "c", " ", "no")], ("question", "context", "answer")),
        ([("8", "a", [" b ", ""], "maybe"), ("9", "c", [], "no")], ("question", "contexts", "answer")),
    ],
)
def test_pairs_by_the_names_of_public_copies(tmp_path, rows, first):
    names = ("id", *first)
    data = read(objects(tmp_path, [dict(zip(names, row, strict=True)) for row in rows]), pairs=True)
    assert data.texts[:2] == [("a", "b"), ("c", "")] and data.targets[:2] == ["maybe", "no"]
    assert counted(data) == {"no text": 2, "test text that is also in train": 2}


def test_classes_that_mean_no_relation(tmp_path):
    labels = ("DDI-false", "0", 0, "DDI-effect", None)
    rows = [{"id": n, "sentence": f"s{n}", "label": label} for n, label in enumerate(labels)]
    data = read(objects(tmp_path, rows), negative="none")
    assert data.targets[:4] == ["none", "none", "none", "DDI-effect"]
    assert counted(data)["no label, dropped"] == 2
    assert read(tmp_path).targets[:4] == ["DDI-false", "0", "0", "DDI-effect"]


def test_what_cannot_be_learnt_is_said(tmp_path):
    with pytest.raises(InputError, match="set, set_hf: all train texts have x; two classes are needed"):
        read(objects(tmp_path, [{"text": "a", "label": "x"}, {"text": "b", "label": "x"}]))
    with pytest.raises(InputError, match=r"all train texts have 1\.0"):
        read(objects(tmp_path, [{"text": "a", "label": 1}]), target="number")
    with pytest.raises(InputError, match=r"line 1: no field label or score or .*; the record has text"):
        read(objects(tmp_path, [{"text": "a"}]))
    with pytest.raises(InputError, match="no train rows"):
        read(objects(tmp_path, []))


def test_a_class_that_train_lacks_is_counted(tmp_path):
    objects(tmp_path, [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    lines(tmp_path / "LinkBERT/data/seqcls/set_hf/test.json", [{"text": "c", "label": "z"}])
    assert counted(read(tmp_path)) == {"class of test texts without a train text": 1}


def test_dev_is_drawn_whatever_the_order(tmp_path):
    rows = [{"id": n, "text": f"t{n}", "label": n % 2} for n in range(200)]
    first = read(objects(tmp_path, rows), dev_share=0.2)
    second = read(objects(tmp_path, rows[::-1]), dev_share=0.2)
    drawn = [{data.ids[row] for row in data.dev} for data in (first, second)]
    assert drawn[0] == drawn[1] and 20 < len(drawn[0]) < 60
    assert len(first.train) + len(first.dev) == len(first.test) == 200

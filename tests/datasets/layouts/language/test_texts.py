"""Texts of one and two segments: BLURB's tables, LinkBERT's JSON lines, PubMedQA's object, open copies."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_data import lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.texts import LabelledTexts, PartFiles, read_records
from sciprism.errors import InputError

FILES = PartFiles(folders=("set", "set_hf"))
BOTH = ("train", "test")


def read(folder, **more):
    return LabelledTexts(files=FILES, **more).read(DataRoot(folder))


def tables(folder, content):
    for part in BOTH:
        text(folder / f"data_generation/data/set/{part}.tsv", content)
    return folder


def objects(folder, rows):
    for part in BOTH:
        lines(folder / f"LinkBERT/data/seqcls/set_hf/{part}.json", rows)
    return folder


def counted(data):
    return {reason: entry["count"] for reason, entry in data.dropped.to_json().items()}


def test_relations_without_a_header(tmp_path):
    rows = 'p1.T1.T2\t@CHEMICAL$ inhibits "x" @GENE$ .\tCPR:4\np2\t"He said ""no"" ."\tfalse\n'
    data = read(tables(tmp_path, rows), negative="false")
    assert data.texts[:2] == [('@CHEMICAL$ inhibits "x" @GENE$ .',), ('He said "no" .',)]
    assert data.targets == ["CPR:4", "false"] * 2
    assert data.ids == ["train/p1.T1.T2", "train/p2", "test/p1.T1.T2", "test/p2"]
    assert counted(data) == {"test text that is also in train": 2}


def test_a_header_is_no_row(tmp_path):
    rows = "index\tsentence\tlabel\n0\t@GENE$ and @DISEASE$\t1\n1\t@GENE$ not @DISEASE$\t0\n"
    data = read(tables(tmp_path, rows))
    assert data.targets == ["1", "0"] * 2 and data.ids[:2] == ["train/0", "train/1"]


def test_numbers_of_pairs(tmp_path):
    rows = "index\tsentence1\tsentence2\tscore\n3\ta\tb\t2.4\n4\tc\td\t0\n"
    data = read(tables(tmp_path, rows), columns=("id", "sentence1", "sentence2", "label"), pairs=True, target="number")
    assert data.texts[0] == ("a", "b") and data.targets == [2.4, 0.0] * 2
    with pytest.raises(InputError, match=r"line 2: 'x' is not a number"):
        read(
            tables(tmp_path, rows.replace("2.4", "x")),
            columns=("id", "sentence1", "sentence2", "label"),
            pairs=True,
            target="number",
        )


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


def test_pubmedqa_keyed_by_id_in_its_own_folders(tmp_path):
    whole = {
        "17": {"QUESTION": "Does it?", "CONTEXTS": ["One.", "Two."], "final_decision": "yes", "MESHES": []},
        "18": {"QUESTION": "And this?", "CONTEXTS": ["Three."], "final_decision": "no"},
    }
    base = tmp_path / "blurb/data/pubmedqa"
    text(base / "pqal_fold0/train_set.json", json.dumps(whole, indent=4))
    text(base / "pqal_fold0/dev_set.json", json.dumps(whole, indent=4))
    text(base / "test_set.json", json.dumps(whole))
    files = PartFiles(
        folders=("pubmedqa",),
        train=("pqal_fold0/train_set",),
        dev=("pqal_fold0/dev_set",),
        test=("test_set",),
    )
    data = LabelledTexts(files=files, pairs=True).read(DataRoot(tmp_path))
    assert data.texts == [("Does it?", "One. Two."), ("And this?", "Three.")] * 3
    assert data.ids[-1] == "test/18" and len(data.dev) == 2


def test_classes_that_mean_no_relation(tmp_path):
    labels = ("DDI-false", "0", 0, "DDI-effect", None)
    rows = [{"id": n, "sentence": f"s{n}", "label": label} for n, label in enumerate(labels)]
    data = read(objects(tmp_path, rows), negative="none")
    assert data.targets[:4] == ["none", "none", "none", "DDI-effect"]
    assert counted(data)["no label, dropped"] == 2
    assert read(tmp_path).targets[:4] == ["DDI-false", "0", "0", "DDI-effect"]


def test_rows_without_ids_have_the_numbers_of_their_lines(tmp_path):
    data = read(objects(tmp_path, [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]))
    assert data.ids == ["train/1", "train/2", "test/1", "test/2"]


def test_ids_that_stand_again_are_kept_apart(tmp_path):
    data = read(objects(tmp_path, [{"id": 1, "text": "a", "label": "x"}, {"id": 1, "text": "b", "label": "y"}]))
    assert data.ids == ["train/1", "train/1#2", "test/1", "test/1#2"]
    assert counted(data)["duplicate id in its part"] == 2


def test_what_cannot_be_learnt_is_said(tmp_path):
    with pytest.raises(InputError, match="set, set_hf: all train texts have x; two classes are needed"):
        read(objects(tmp_path, [{"text": "a", "label": "x"}, {"text": "b", "label": "x"}]))
    with pytest.raises(InputError, match=r"all train texts have 1\.0"):
        read(objects(tmp_path, [{"text": "a", "label": 1}]), target="number")
    with pytest.raises(InputError, match=r"record 1: no field label or score or .*; the record has text"):
        read(objects(tmp_path, [{"text": "a"}]))
    with pytest.raises(InputError, match="no train rows"):
        read(objects(tmp_path, []))
    with pytest.raises(InputError, match=r"train.tsv, line 1: 2 cells, expected 3"):
        read(tables(tmp_path, "a\tb\n"))


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


CELLS = st.text(st.sampled_from('ab"\n ,é'), min_size=1, max_size=12).filter(lambda cell: cell.strip())
LAST = st.text(st.sampled_from('ab"\t ,é'), max_size=12)
ROWS = st.lists(st.tuples(CELLS, LAST), min_size=1, max_size=5)


@given(ROWS)
def test_tables_come_back_as_a_writer_of_tables_wrote_them(tmp_path_factory, rows):
    whole = io.StringIO()
    csv.writer(whole, delimiter="\t", lineterminator="\n").writerows([n, *row] for n, row in enumerate(rows))
    path = text(tmp_path_factory.mktemp("tsv") / "train.tsv", whole.getvalue())
    found = list(read_records(DataRoot(path.parent), path, ("id", "one", "two")))
    assert [(each.values["one"], each.values["two"]) for each in found] == rows


PLAIN = st.text("ab' ,é.", max_size=9) | st.sampled_from(['"x', 'x"', 'a "b" c', '"', '"a" "b"'])


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=5))
def test_tables_that_quote_nothing_come_back_too(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tsv") / "train.tsv"
    text(path, "".join(f"{n}\t{one}\t{two}\n" for n, (one, two) in enumerate(rows)))
    found = list(read_records(DataRoot(path.parent), path, ("id", "one", "two")))
    assert [(each.values["one"], each.values["two"]) for each in found] == rows

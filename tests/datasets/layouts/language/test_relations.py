"""Hallmarks of abstracts; pairs of drugs from documents."""

import pytest

from build_data import counted, lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.texts import HALLMARKS, DrugPairs, HallmarkAbstracts, PartFiles
from sciprism.errors import InputError

BOTH = ("train", "test")


def hallmarks(folder):
    return HallmarkAbstracts(files=PartFiles(folders=("HoC_hf", "open"))).read(DataRoot(folder))


def test_hallmarks_are_a_vector_or_names(tmp_path):
    for part in BOTH:
        lines(tmp_path / f"seqcls/HoC_hf/{part}.json", [{"id": "8", "sentence": "A.", "label": [0] * 9 + [1]}])
        row = {"id": "8", "text": "A.", "labels": ["Tumor promoting inflammation"], "sentences": ["A."]}
        lines(tmp_path / f"open/{part}.jsonl", [row])
    first = hallmarks(tmp_path)
    (tmp_path / "seqcls").rename(tmp_path / "elsewhere")
    assert first.targets == hallmarks(tmp_path).targets == [(HALLMARKS[9],)] * 2
    lines(tmp_path / "open/train.jsonl", [{"text": "A.", "labels": ["ageing"]}])
    with pytest.raises(InputError, match="line 1: 'ageing' is not one of the ten hallmarks"):
        hallmarks(tmp_path)
    lines(tmp_path / "open/train.jsonl", [{"text": "A.", "labels": []}])
    with pytest.raises(InputError, match="all train texts have no label"):
        hallmarks(tmp_path)


TEXT = "Acetazolamide and mu- or delta-opioids raise lithium.\r\n"


def document(name, pairs, label="effect"):
    places = ("0-12", "18-20;31-37", "25-37", "45-51", "90-99")
    drugs = [{"id": f"e{n}", "offset": offset, "type": "drug"} for n, offset in enumerate(places)]
    labelled_pairs = [{"e1": one, "e2": other, "label": label} for one, other in pairs]
    return {"id": name, "sentences": [{"text": TEXT, "entities": drugs, "pairs": labelled_pairs}]}


def pairs(folder, train, test=None, **more):
    for part, rows in (("train", train), ("test", test or train)):
        lines(folder / f"re_ddi2013/{part}.jsonl", rows)
    return DrugPairs(files=PartFiles(folders=("re_ddi2013",)), **more).read(DataRoot(folder))


def test_pairs_of_drugs(tmp_path):
    rows = [document("d1", [("e0", "e3"), ("e3", "e0"), ("e2", "e1"), ("e1", "e3")])]
    data = pairs(tmp_path, [*rows, document("d2", [("e0", "e4"), ("e0", "e9"), ("e0", "e2")], "false")])
    assert data.texts[:5] == [
        *[("@DRUG$ and mu- or delta-opioids raise @DRUG$.",)] * 2,
        ("Acetazolamide and @DRUG-DRUG$ raise lithium.",),
        ("Acetazolamide and @DRUG$ raise @DRUG$.",),
        ("@DRUG$ and mu- or @DRUG$ raise lithium.",),
    ]
    assert data.targets[:5] == ["effect"] * 4 + ["false"]
    assert data.ids[0] == "train/d1.s0.p0" and data.ids[4] == "train/d2.s0.p2"
    assert counted(data) == {
        "drug in several pieces, read from the first to the last": 4,
        "drugs that overlap": 2,
        "pair with an unknown drug, dropped": 4,
        "test text that is also in train": 5,
    }


def test_pairs_of_a_document_are_in_one_part(tmp_path):
    rows = [document(f"d{n}", [("e0", "e3"), ("e2", "e3")], "false" if n % 2 else "effect") for n in range(100)]
    data = pairs(tmp_path, rows, dev_share=0.13)
    parts = [{data.ids[row].split(".")[0].split("/")[1] for row in part} for part in (data.train, data.dev)]
    assert not parts[0] & parts[1] and 4 < len(parts[1]) < 30
    assert len(data.train) + len(data.dev) == 200 == len(data.test)


def test_broken_documents_are_named(tmp_path):
    with pytest.raises(InputError, match="sentence 0 lacks 'offset'"):
        pairs(tmp_path, [{"id": "d", "sentences": [{"text": "x", "entities": [{"id": "e"}], "pairs": []}]}])
    row = document("d", [])
    row["sentences"][0]["entities"][0]["offset"] = "12"
    with pytest.raises(InputError, match=r"d\.s0: the offset '12' is not like 54-68"):
        pairs(tmp_path, [row])

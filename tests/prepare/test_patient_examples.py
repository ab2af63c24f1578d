"""`sciprism prepare patients`: examples from the published layout, each drop counted."""

import json
import os
import subprocess
import sys

import pytest

from build_data import lines, text
from build_patients import write_release
from build_scimult import judgements
from sciprism.errors import InputError
from sciprism.evaluation.systems import BM25System
from sciprism.papers.records import Paper
from sciprism.prepare.patients import PatientSettings, prepare_patients, sample_negatives
from sciprism.training.examples import read_examples


def examples(out, split="train", search="ppr"):
    path = out / split / f"patients-{search}.jsonl"
    return {e.query.id: e for e in read_examples(path, query="paper", candidate="paper")}


def ids(papers):
    return [paper.id for paper in papers]


def similar(folder, *, judged, train=(("1-1", "red eye"), ("1-2", "red nose"), ("2-1", "blue toe"))):
    """Write a release of five patients who are searched; judged: split -> \"query document grade, ...\"."""
    corpus = [("1-1", "red eye"), ("1-2", "red nose"), ("2-1", "blue toe"), ("3-1", "red toe"), ("4-1", "")]
    lines(folder / "PPR/corpus.jsonl", ({"_id": i, "title": "", "text": words} for i, words in corpus))
    asking = {"train": train, "dev": (("7-1", "red ear"),), "test": (("9-1", "blue ear"),)}
    for split, patients in asking.items():
        lines(folder / f"queries/{split}_queries.jsonl", ({"_id": i, "text": words} for i, words in patients))
        rows = judged.get(split, "7-1 2-1 1" if split == "dev" else "9-1 1-1 1")
        text(folder / f"PPR/qrels_{split}.tsv", judgements(rows))
    return folder


def test_an_example_is_a_patient_with_all_relevant_ones(tmp_path):
    """The closest grade comes first; patients are papers whose abstract is their text."""
    raw = similar(tmp_path / "raw", judged={"train": "1-1 3-1 1,1-1 1-2 2,2-1 3-1 1"})
    done = prepare_patients(raw, tmp_path / "out", PatientSettings())
    found = examples(tmp_path / "out")
    assert list(found) == ["1-1", "2-1"]
    assert found["1-1"].query == Paper(id="1-1", abstract="red eye")
    assert found["1-1"].positives == (Paper(id="1-2", abstract="red nose"), Paper(id="3-1", abstract="red toe"))
    assert found["1-1"].negatives == (), "nobody else shares a word"
    assert ids(found["2-1"].negatives) == [] and ids(found["2-1"].positives) == ["3-1"]
    report = done.record["parts"]["train"]
    assert (report["queries"], report["pairs"], report["negatives"]) == (2, 3, {"none": 3})
    assert report["dropped"] == {"patient without a relevant document": {"count": 1, "first": ["1-2"]}}
    assert (done.record["documents"], done.record["pool"]) == (5, 4), "4-1 has no text"
    assert ids(examples(tmp_path / "out", "dev")["7-1"].negatives) != ["2-1"]


def test_negatives_share_words_and_are_not_known(tmp_path):
    raw = similar(tmp_path / "raw", judged={"train": "1-1 1-2 2"})
    done = prepare_patients(raw, tmp_path / "out", PatientSettings())
    assert ids(examples(tmp_path / "out")["1-1"].negatives) == ["3-1"]
    assert set(ids(examples(tmp_path / "out", "dev")["7-1"].negatives)) == {"1-1", "1-2", "3-1"}
    assert done.record["parts"]["train"]["negatives"] == {"bm25": 1}


def test_everything_dropped_is_counted(tmp_path):
    train = [
        ("1-1", "red eye"),
        ("1-1", "again"),
        ("1-2", ""),
        ("2-1", "blue toe"),
        ("9-1", "blue ear"),
        ("5-1", "odd"),
    ]
    judged = "1-1 1-1 2,1-1 gone 1,1-1 4-1 1,1-1 3-1 1,1-2 3-1 1,9-1 3-1 1,6-6 3-1 1,5-1 gone 1,2-1 3-1 0"
    raw = similar(tmp_path / "raw", judged={"train": judged}, train=train)
    done = prepare_patients(raw, tmp_path / "out", PatientSettings())
    assert {q: ids(e.positives) for q, e in examples(tmp_path / "out").items()} == {"1-1": ["3-1"]}
    assert done.dropped["train"].ids == {
        "patient judged relevant to the same patient": ["1-1"],
        "graded document without a record": ["1-1 gone", "5-1 gone"],
        "relevant document without text": ["1-1 4-1"],
        "duplicate patient, the first is retained": ["1-1"],
        "patient without text": ["1-2"],
        "patient without a relevant document": ["2-1"],
        "patient of a later split": ["9-1"],
        "patient whose relevant documents were all dropped": ["5-1"],
        "graded query without a record": ["6-6"],
    }
    facts = json.loads((tmp_path / "out/patients-ppr.json").read_text())
    assert facts["parts"]["train"]["dropped"]["graded document without a record"]["count"] == 2
    assert "PPR/corpus.jsonl" in facts["data"]


def everything(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.json*")}


def test_the_same_seed_gives_the_same_anywhere(tmp_path):
    """In another process that hashes texts otherwise, too; another seed gives others."""
    raw = write_release(tmp_path / "raw", each=4)
    prepare_patients(raw, tmp_path / "here", PatientSettings())
    code = "from sciprism.cli.main import main; main()"
    command = [sys.executable, "-c", code, "prepare", "patients", str(raw), "-o", str(tmp_path / "there")]
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert everything(tmp_path / "there") == everything(tmp_path / "here")
    assert "48 documents; negatives are sampled from 48" in done.stdout
    assert "48 patients, 192 pairs, 192 with a hard negative" in done.stdout
    prepare_patients(raw, tmp_path / "other", PatientSettings(seed=4, pool=30))
    assert everything(tmp_path / "other") != everything(tmp_path / "here")
    texts = {paper.id for e in examples(tmp_path / "other").values() for paper in e.negatives}
    assert len(texts) <= 30


def test_negatives():
    """None is known, none is there twice, and a pool without another paper gives none."""
    pool = {str(n): Paper(id=str(n), abstract=f"red {'eye' if n % 2 else 'ear'} {n}") for n in range(40)}
    known = [{str(n), str(n + 1)} for n in range(6)]
    sampled = list(sample_negatives(BM25System(), pool, [*pool.values()][:6], known, 1))
    for mine, out in zip(sampled, known, strict=True):
        assert len(set(ids(mine))) == 4 and not out & set(ids(mine))
    for few in ({"0": pool["0"]}, {}):
        assert list(sample_negatives(BM25System(), few, [pool["0"]], [{"0"}], 1)) == [()]


def test_a_part_without_an_example_is_refused(tmp_path):
    raw = similar(tmp_path / "raw", judged={"train": "1-1 1-2 2", "dev": "7-1 gone 1"})
    with pytest.raises(InputError, match=r"no dev patient gives an example: .*document without a record"):
        prepare_patients(raw, tmp_path / "out", PatientSettings())
    assert not (tmp_path / "out/dev/patients-ppr.jsonl").exists()

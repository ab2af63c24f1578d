"""All labels ranked for every paper, and the class whose text is nearest."""

import numpy as np
import pytest

from build_systems import build_system, spell_vectors
from sciprism.datasets.inputs import LabelInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols import label
from sciprism.evaluation.protocols.label import LabelProtocol, NearestLabelProtocol
from sciprism.evaluation.systems import BM25System
from sciprism.evaluation.task import EvaluationContext
from sciprism.papers import Label, Paper

VIEW = EvaluationContext(format="classification")


def rows(*numbers):
    return np.array(numbers, np.int64)


def space(**more):
    base = {
        "paper_ids": ["p1", "p2", "p3"],
        "papers": ["1 0", "0 1", "1 1"],
        "labels": [Label(id=str(i), name=name) for i, name in enumerate(["3 0", "2 0", "1 0", "0 2"])],
        "gold": [rows(1), rows(0, 3), rows()],
    }
    return LabelInput(**(base | more))


def recalls(outcome, name):
    return outcome.item_scores[name].columns.ravel().tolist()


def test_recall_over_all_labels(tmp_path):
    outcome = LabelProtocol(metrics=("recall@1", "recall@2", "recall@9")).evaluate(
        space(), build_system(tmp_path), VIEW
    )
    assert recalls(outcome, "recall@1") == [0, 0.5]  # p1: 0 1 2 3; p2: 3 first, then ties in order
    assert recalls(outcome, "recall@2") == [1, 1]
    assert recalls(outcome, "recall@9") == [1, 1]
    assert outcome.dropped.ids == {"paper without a label of the vocabulary": ["p3"]}


def test_names_are_found_in_title_and_abstract(tmp_path):
    labels = [Label(id="a", name="9 0"), Label(id="b", name="1 0", synonyms=("0 0 1",))]
    papers = [Paper(id="p", title="1 0", abstract="the 0 1")]
    data = space(paper_ids=["p"], papers=papers, labels=labels, gold=[rows(1)])
    plain = LabelProtocol(metrics=("recall@1",)).evaluate(data, build_system(tmp_path), VIEW)
    named = LabelProtocol(metrics=("recall@1",), names_first=True).evaluate(data, build_system(tmp_path), VIEW)
    assert estimate(plain.item_scores["recall@1"]) == 0 and estimate(named.item_scores["recall@1"]) == 1


def test_names_only_leave_definitions_out(tmp_path):
    labels = [Label(id="a", name="0 1", definition="1 0"), Label(id="b", name="1 0", definition="0 1")]
    data = space(paper_ids=["p"], papers=["1 0"], labels=labels, gold=[rows(0)])
    both, name = (
        LabelProtocol(metrics=("recall@1",), text=text).evaluate(data, build_system(tmp_path), VIEW)
        for text in ("name and definition", "name")
    )
    assert recalls(both, "recall@1") == [1] and recalls(name, "recall@1") == [0]


def test_blocks_do_not_change_a_number(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    labels = [Label(id=str(i), name=text) for i, text in enumerate(spell_vectors(draw.normal(size=(30, 2))))]
    gold = [np.unique(draw.integers(0, 30, 3)) for _ in range(20)]
    data = space(
        paper_ids=[str(i) for i in range(20)],
        papers=spell_vectors(draw.normal(size=(20, 2))),
        labels=labels,
        gold=gold,
        matched=[np.unique(draw.integers(0, 30, 2)) for _ in range(20)],
    )
    protocol = LabelProtocol(metrics=("recall@5",), names_first=True)
    whole = recalls(protocol.evaluate(data, build_system(tmp_path), VIEW), "recall@5")
    monkeypatch.setattr(label, "BLOCK", 3)
    assert recalls(protocol.evaluate(data, build_system(tmp_path), VIEW), "recall@5") == whole
    # and by the plain rule
    for i, value in enumerate(whole):
        paper = np.array([float(x) for x in data.papers[i].split()])
        order = sorted(
            range(30),
            key=lambda j: (j not in data.matched[i], -(np.array([float(x) for x in labels[j].name.split()]) @ paper)),
        )
        assert value == pytest.approx(len(set(order[:5]) & set(gold[i])) / len(gold[i]))


def test_the_nearest_class_is_predicted(tmp_path):
    data = space(
        papers=["1 0", "0 1", "1 0"],
        labels=[Label(id="x", name="1 0"), Label(id="y", name="0 1")],
        gold=[rows(0), rows(1), rows(1)],
    )
    outcome = NearestLabelProtocol(metrics=("f1_macro", "f1_micro", "accuracy")).evaluate(
        data, build_system(tmp_path), VIEW
    )
    assert estimate(outcome.item_scores["f1_macro"]) == pytest.approx(2 / 3)
    assert estimate(outcome.item_scores["f1_micro"]) == pytest.approx(2 / 3)
    assert estimate(outcome.item_scores["accuracy"]) == pytest.approx(2 / 3)


def test_what_shares_nothing_with_any_class_gets_the_first(tmp_path):
    data = space(
        papers=["dark matter", "gene", "nothing"],
        labels=[Label(id="x", name="matter"), Label(id="y", name="gene")],
        gold=[rows(0), rows(1), rows(0)],
    )
    outcome = NearestLabelProtocol(metrics=("f1_macro",)).evaluate(data, BM25System(), VIEW)
    assert estimate(outcome.item_scores["f1_macro"]) == 1
    assert list(outcome.dropped.ids.values()) == [["p3"]]


def test_settings_check_themselves(tmp_path):
    with pytest.raises(InputError, match="not recall@K"):
        LabelProtocol(metrics=("ndcg@5",))
    with pytest.raises(InputError, match="unknown metric 'f1'; known: f1_macro"):
        NearestLabelProtocol(metrics=("f1",))
    with pytest.raises(InputError, match="no paper has a label"):
        LabelProtocol().evaluate(space(gold=[rows(), rows(), rows()]), build_system(tmp_path), VIEW)

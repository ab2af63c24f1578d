"""Scores of classes against scikit-learn and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics.classification import accuracy, correct, f1, outcomes

LABELS = st.sampled_from([0, 1, 2, 5]), st.sampled_from(["a", "b", "ß"]), st.booleans().map(int)


@pytest.mark.parametrize("labels", LABELS, ids=["numbers", "names", "two"])
@given(data=st.data())
@settings(max_examples=30)
def test_single_labels_equal_scikit_learn(labels, data):
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = data.draw(st.lists(st.tuples(labels, labels), min_size=1, max_size=25))
    gold, predicted = (list(side) for side in zip(*pairs, strict=True))
    assert accuracy(gold, predicted) == pytest.approx(metrics.accuracy_score(gold, predicted), abs=1e-12)
    for average in ("macro", "micro"):
        expected = metrics.f1_score(gold, predicted, average=average, zero_division=0)
        assert f1(gold, predicted, average) == pytest.approx(expected, abs=1e-12)
    if set(gold) | set(predicted) <= {0, 1}:
        expected = metrics.f1_score(gold, predicted, zero_division=0)
        assert f1(gold, predicted, "binary") == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(2, 6), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@settings(max_examples=30)
def test_multi_labels_equal_scikit_learn(seed, items, classes, share):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    gold, predicted = (rng.random((2, items, classes)) < share).astype(int)
    assert accuracy(gold, predicted) == pytest.approx(metrics.accuracy_score(gold, predicted), abs=1e-12)
    for average in ("macro", "micro"):
        expected = metrics.f1_score(gold, predicted, average=average, zero_division=0)
        assert f1(gold, predicted, average) == pytest.approx(expected, abs=1e-12)


def test_numbers_worked_by_hand():
    gold, predicted = [1, 1, 0, 2], [1, 0, 0, 0]
    # class 0: tp 1, fp 2; class 1: tp 1, fn 1; class 2: fn 1
    assert f1(gold, predicted, "macro") == pytest.approx((0.5 + 2 / 3 + 0) / 3)
    assert f1(gold, predicted, "micro") == accuracy(gold, predicted) == 0.5
    assert f1([1, 1, 0], [1, 0, 1], "binary") == pytest.approx(0.5)
    assert correct(gold, predicted).tolist() == [True, False, True, False]


def test_a_class_that_nobody_has_or_gets_counts_only_among_multi_labels():
    assert f1([0, 1], [0, 1], "macro") == 1.0
    assert f1(np.eye(3)[:2], np.eye(3)[:2], "macro") == pytest.approx(2 / 3)
    assert f1([0, 0], [0, 0], "binary") == 0.0
    assert np.isnan(accuracy([], []))


def test_outcomes_stand_in_the_order_of_the_labels():
    tp, fp, fn = outcomes(["b", "a"], ["b", "c"], ["a", "b", "c"])
    assert tp.tolist() == [[False, True, False], [False, False, False]]
    assert fp.tolist() == [[False, False, False], [False, False, True]]
    assert fn.tolist() == [[False, False, False], [True, False, False]]


@pytest.mark.parametrize(
    ("gold", "predicted", "average", "message"),
    [
        ([0, 1, 2], [0, 1, 2], "binary", "class 1 against one other"),
        ([0, 2], [0, 2], "binary", "class 1 against one other"),
        ([[0, 1]], [[0, 1]], "binary", "multi-labels"),
        ([[0, 2]], [[0, 1]], "macro", "rows of 0 and 1"),
        ([0, 1], [0], "macro", "2 and 1 of them"),
        ([[0, 1]], [0], "macro", "give"),
        ([0], [0], "weighted", "known: binary, macro, micro"),
    ],
)
def test_wrong_input_is_told(gold, predicted, average, message):
    with pytest.raises(InputError, match=message):
        f1(gold, predicted, average)

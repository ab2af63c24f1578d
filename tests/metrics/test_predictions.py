"""Scores of classes, clusters and numbers against scikit-learn, scipy and numbers worked by hand."""

import warnings
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate, score_classes, score_label_sets
from sciprism.metrics import predictions
from sciprism.metrics.predictions import b_cubed, b_cubed_f1, correct


def accuracy(gold, predicted):
    return float(correct(gold, predicted).mean())


def f1(gold, predicted, average):
    ids, score = [str(row) for row in range(len(gold))], score_label_sets if np.ndim(gold) == 2 else score_classes
    return estimate(score(ids, gold, predicted, f"f1_{average}"))


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


@pytest.mark.parametrize(
    ("gold", "predicted", "average", "message"),
    [
        ([0, 1, 2], [0, 1, 2], "binary", "class 1 against one other"),
        ([0, 2], [0, 2], "binary", "class 1 against one other"),
        ([[0, 2]], [[0, 1]], "macro", "rows of 0 and 1"),
        ([0, 1], [0], "macro", "2 and 1 of them"),
        ([[0, 1]], [0], "macro", "give"),
        ([0], [0], "weighted", "unknown aggregate 'f1_weighted'"),
    ],
)
def test_wrong_input_is_told(gold, predicted, average, message):
    with pytest.raises(InputError, match=message):
        f1(gold, predicted, average)


def test_a_clustering_worked_by_hand():
    precision, recall = b_cubed([1, 1, 1, 2], ["x", "x", "y", "y"])
    assert precision.tolist() == [1, 1, 0.5, 0.5]
    assert recall == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1])
    p, r = 3 / 4, 2 / 3
    assert b_cubed_f1(precision, recall) == pytest.approx(2 * p * r / (p + r))
    assert b_cubed_f1(precision, recall) == pytest.approx(0.706, abs=5e-4)


def test_wrong_clusters_are_told():
    with pytest.raises(InputError, match="2 and 1"):
        b_cubed([1, 2], [1])
    with pytest.raises(InputError, match="no item"):
        b_cubed_f1(*b_cubed([], []))


TIED = st.integers(-3, 3).map(float)
WIDE = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))
PAIRS = st.one_of(
    st.lists(st.tuples(TIED, TIED), min_size=2, max_size=60),
    st.lists(st.tuples(WIDE, WIDE), min_size=2, max_size=60),
    st.lists(st.tuples(TIED, WIDE), min_size=2, max_size=60),
)


def sides(pairs):
    return (np.array(side) for side in zip(*pairs, strict=True))


def test_tau_b_worked_by_hand():
    # pairs: 1-2 concordant, 1-3 concordant, 1-4 tied in y, 2-3 tied in x, 2-4 discordant, 3-4 discordant
    assert predictions.kendall_tau([1, 2, 2, 3], [1, 2, 3, 1]) == pytest.approx(0 / sqrt(5 * 5))
    assert predictions.kendall_tau([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)


def test_constants_have_no_correlation_and_perfect_agreement_is_one():
    for gold, predicted in (([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5]), ([1], [1]), ([], [])):
        assert isnan(predictions.kendall_tau(gold, predicted))
    assert predictions.kendall_tau([1, 2, 4], [2, 3, 5]) == pytest.approx(1.0)
    assert predictions.kendall_tau([1, 2, 4], [-2, -3, -5]) == pytest.approx(-1.0)


@pytest.mark.parametrize("name", ["kendall_tau", "spearman"])
@given(pairs=PAIRS, seed=st.integers(0, 2**32), few=st.booleans())
@settings(max_examples=40)
def test_weights_count_as_copies(name, pairs, seed, few):
    gold, predicted = sides(pairs)
    draws = np.random.default_rng(seed).integers(0, len(gold), (3 if few else predictions.MIN_RESAMPLES + 4, len(gold)))
    weights = np.stack([np.bincount(draw, minlength=len(gold)) for draw in draws]).astype(float)
    found = getattr(predictions, f"weighted_{name}")(gold, predicted, weights)
    peer = getattr(pytest.importorskip("scipy.stats"), {"kendall_tau": "kendalltau", "spearman": "spearmanr"}[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant input
        expected = [peer(gold[draw], predicted[draw])[0] for draw in draws]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weights_over_several_blocks_of_items():
    rng = np.random.default_rng(0)
    size = 2 * predictions.BLOCK + 37
    gold, predicted = np.round(rng.normal(size=(2, size)), 1)
    weights = rng.integers(0, 3, (predictions.MIN_RESAMPLES, size)).astype(float)
    expected = [predictions.kendall_tau(np.repeat(gold, row), np.repeat(predicted, row)) for row in weights.astype(int)]
    np.testing.assert_allclose(predictions.weighted_kendall_tau(gold, predicted, weights), expected, rtol=0, atol=1e-12)

"""Agreement of numbers, plain and resampled, against scipy and scikit-learn."""

from __future__ import annotations

import warnings
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics import regression

TIED = st.integers(-3, 3).map(float)
WIDE = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))
PAIRS = st.one_of(
    st.lists(st.tuples(TIED, TIED), min_size=2, max_size=60),
    st.lists(st.tuples(WIDE, WIDE), min_size=2, max_size=60),
    st.lists(st.tuples(TIED, WIDE), min_size=2, max_size=60),
)


def sides(pairs):
    return (np.array(side) for side in zip(*pairs, strict=True))


def peers(gold, predicted):
    stats, metrics = pytest.importorskip("scipy.stats"), pytest.importorskip("sklearn.metrics")
    varies = np.ptp(gold) and np.ptp(predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant input
        return {
            "kendall_tau": stats.kendalltau(gold, predicted)[0],
            "pearson": stats.pearsonr(gold, predicted)[0] if varies else np.nan,  # scipy 1.14: 0
            "spearman": stats.spearmanr(gold, predicted)[0],
            "r2": metrics.r2_score(gold, predicted) if np.ptp(gold) else float(np.array_equal(gold, predicted)),
        }


@given(PAIRS)
@settings(max_examples=80)
def test_equals_the_peers(pairs):
    gold, predicted = sides(pairs)
    for name, expected in peers(gold, predicted).items():
        found = getattr(regression, name)(gold, predicted)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("size", [2, 3, 255, 256, 257, 3000])
def test_kendall_equals_scipy_at_sizes_around_powers_of_two(size):
    rng = np.random.default_rng(size)
    for step in (0.0, 0.1):
        gold = rng.normal(size=size)
        predicted = gold + rng.normal(size=size)
        if step:
            gold, predicted = np.round(gold / step) * step, np.round(predicted / step) * step
        expected = pytest.importorskip("scipy.stats").kendalltau(gold, predicted)[0]
        assert regression.kendall_tau(gold, predicted) == pytest.approx(expected, abs=1e-12)


def test_tau_b_worked_by_hand():
    # pairs: 1-2 concordant, 1-3 concordant, 1-4 tied in y, 2-3 tied in x, 2-4 discordant, 3-4 discordant
    assert regression.kendall_tau([1, 2, 2, 3], [1, 2, 3, 1]) == pytest.approx(0 / sqrt(5 * 5))
    assert regression.kendall_tau([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)


def test_constants_have_no_correlation_and_perfect_agreement_is_one():
    for name in ("kendall_tau", "pearson", "spearman"):
        for gold, predicted in (([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5]), ([1], [1]), ([], [])):
            assert isnan(getattr(regression, name)(gold, predicted))
        assert getattr(regression, name)([1, 2, 4], [2, 3, 5]) == pytest.approx(1.0)
        assert getattr(regression, name)([1, 2, 4], [-2, -3, -5]) == pytest.approx(-1.0)
    assert (
        regression.r2([2, 2], [2, 2]) == 1.0 and regression.r2([2, 2], [2, 3]) == 0.0 and isnan(regression.r2([1], [1]))
    )


@pytest.mark.parametrize(("gold", "predicted"), [([1, 2], [1]), ([1, float("nan")], [1, 2])])
def test_wrong_input_is_told(gold, predicted):
    for name in ("kendall_tau", "pearson", "spearman", "r2"):
        with pytest.raises(InputError):
            getattr(regression, name)(gold, predicted)


@pytest.mark.parametrize("name", ["kendall_tau", "spearman"])
@given(pairs=PAIRS, seed=st.integers(0, 2**32), few=st.booleans())
@settings(max_examples=40)
def test_weights_count_as_copies(name, pairs, seed, few):
    gold, predicted = sides(pairs)
    draws = np.random.default_rng(seed).integers(0, len(gold), (3 if few else regression.MIN_RESAMPLES + 4, len(gold)))
    weights = np.stack([np.bincount(draw, minlength=len(gold)) for draw in draws]).astype(float)
    found = getattr(regression, f"weighted_{name}")(gold, predicted, weights)
    expected = [getattr(regression, name)(gold[draw], predicted[draw]) for draw in draws]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weights_over_several_blocks_of_items():
    rng = np.random.default_rng(0)
    size = 2 * regression.BLOCK + 37
    gold, predicted = np.round(rng.normal(size=(2, size)), 1)
    weights = rng.integers(0, 3, (regression.MIN_RESAMPLES, size)).astype(float)
    expected = [regression.kendall_tau(np.repeat(gold, row), np.repeat(predicted, row)) for row in weights.astype(int)]
    np.testing.assert_allclose(regression.weighted_kendall_tau(gold, predicted, weights), expected, rtol=0, atol=1e-12)

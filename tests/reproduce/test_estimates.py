"""Intervals over seeds and items, against numbers worked by hand and against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from sciprism.evaluation.item_scores import ItemSample
from sciprism.reproduce.estimates import ScoreSample, add_errors, estimate_difference, estimate_mean, to_error

STILL = np.zeros(1000)
UNBOUNDED = (-math.inf, math.inf)


def build_sample(*seeds, draws=None):
    seeds = np.array(seeds)
    sample = ItemSample(seeds.mean(), seeds.mean() + (STILL if draws is None else draws), 1_000_000, UNBOUNDED)
    return ScoreSample(seeds, {0: sample}, 1_000_000)


def test_seeds_alone_spread_by_students_t():
    found = estimate_difference(build_sample(0.5, 0.6, 0.7), build_sample(0.3, 0.3, 0.3))
    # Differences 0.2, 0.3, 0.4: mean 0.3, standard error 0.1 / sqrt(3); t(2) at 97.5% is 4.3027.
    half = 4.3027 * 0.1 / math.sqrt(3)
    assert found.value == pytest.approx(0.3) and found.seeds == (3, 3)
    assert [found.low, found.high] == pytest.approx([0.3 - half, 0.3 + half], abs=0.03 * half)


def test_pairs_of_seeds_take_out_what_they_share():
    one = build_sample(0.1, 0.5, 0.9)
    other = build_sample(0.0, 0.4, 0.8)
    found = estimate_difference(one, other)
    assert [found.value, found.low, found.high] == pytest.approx([0.1, 0.1, 0.1], abs=1e-6)
    apart = estimate_difference(one, build_sample(0.0, 0.8))  # other numbers of seeds: nothing to pair
    assert apart.low < -1 and apart.high > 1


def test_items_alone_vary_as_the_paired_draws():
    random = np.random.default_rng(0)
    a, b = random.normal(0, 0.02, 1000), random.normal(0, 0.02, 1000)
    found = estimate_difference(build_sample(0.4, draws=a), build_sample(0.3, draws=b))
    wanted = 0.1 + 1.96 * np.std(a - b) * np.array([-1, 1])
    assert [found.low, found.high] == pytest.approx(wanted, rel=1e-3) and found.seeds == (1, 1)
    narrow = estimate_difference(build_sample(0.4, draws=a), build_sample(0.3, draws=b), level=0.5)
    assert found.low < narrow.low < narrow.high < found.high


def test_items_and_seeds_add_up():
    half = 1.96 * 0.03
    low, high = add_errors(0.0, (-half, half), [(0.02, 1_000_000)])  # so many seeds that t is normal: variances add
    assert [low, high] == pytest.approx([-1.96 * math.hypot(0.03, 0.02), 1.96 * math.hypot(0.03, 0.02)], rel=1e-3)


def test_a_relative_change_and_its_spread_over_seeds():
    a, b = np.array([0.60, 0.66, 0.63]), np.array([0.58, 0.62, 0.60])
    found = estimate_difference(build_sample(*a), build_sample(*b), relative=True)
    ratio = a.mean() / b.mean()
    error = np.std((a - ratio * b) / b.mean(), ddof=1) / math.sqrt(3)
    assert found.value == pytest.approx(ratio - 1)
    assert found.high - found.low == pytest.approx(2 * stats.t.ppf(0.975, 2) * error, rel=0.03)
    assert math.isnan(estimate_difference(build_sample(0.1), build_sample(0.0), relative=True).value)


def test_the_change_of_the_error():
    """From 76.90 to 79.40 is 10.82% less of the error (Multi2SPE)."""
    ours, other = (to_error(build_sample(score, score)) for score in (0.7940, 0.7690))
    found = estimate_difference(ours, other, relative=True)
    assert 100 * found.value == pytest.approx(-10.82, abs=0.005)


def test_a_number_of_its_own():
    found = estimate_mean(build_sample(0.5, 0.7))
    assert found.error == pytest.approx(0.1) and found.spread == pytest.approx(0.1 * 2**0.5)
    assert estimate_mean(build_sample(0.5)).error == estimate_mean(build_sample(0.5)).spread == 0
    half = stats.t.ppf(0.975, 1) * 0.1
    assert found.value == pytest.approx(0.6) and found.high == pytest.approx(0.6 + half, rel=0.05)
    assert found.seeds == (2,) and math.isnan(add_errors(0.5, (math.nan, math.nan), [(0.1, 1)])[0])
    assert estimate_mean(build_sample(0.5, 0.7)) == found  # nothing is drawn anew

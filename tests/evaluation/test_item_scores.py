"""Estimates, intervals and tests of per-item scores, against loops over the items."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as peers

from differences import paired_difference
from sciprism.errors import InputError
from sciprism.evaluation import item_scores as module
from sciprism.evaluation.item_scores import (
    ItemScores,
    aggregates,
    average_parts,
    bootstrap_interval,
    draw_sample,
    estimate,
    holm,
    items_key,
    resample,
    sample_difference,
    score_classes,
    score_label_sets,
    score_numbers,
    sort_items,
    sum_samples,
)
from sciprism.evaluation.results import ScoreTable, write_score_table
from sciprism.metrics.predictions import b_cubed, b_cubed_f1

SEEDS = st.integers(0, 2**32)
OF_NUMBERS = ("kendall_tau", "spearman", "pearson", "r2")


def names(count):
    return tuple(f"p{n}" for n in range(count))


def mean(values, ids=None):
    return ItemScores(tuple(ids or names(len(values))), np.array(values, dtype=float), "mean")


def agreement(name, gold, predicted):
    """Return what scipy and scikit-learn give; NaN for a constant, or one item."""
    if len(gold) < 2:
        return np.nan
    if name == "r2":
        return peers.r2_score(gold, predicted)
    measure = {"kendall_tau": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[name]
    return measure(gold, predicted)[0] if np.ptp(gold) and np.ptp(predicted) else np.nan


def build_scores(aggregate, rng, items=12):
    """Return the scores of an aggregate from random results."""
    columns = rng.random((items, len(aggregates[aggregate].columns)))
    if aggregate.startswith("f1"):
        if aggregate == "f1_macro_multi_label":
            return score_label_sets(names(items), *rng.integers(0, 2, (2, items, 3)), "f1_macro")
        labels = [0, 1] if aggregate == "f1_binary" else [0, 1, 2]
        return score_classes(names(items), *rng.choice(labels, (2, items)), aggregate, labels=labels)
    if aggregate in OF_NUMBERS:
        columns = np.round(columns, 1)
    return ItemScores(names(items), columns, aggregate)


def copied(item_scores, rows):
    """Draw items by hand: each drawn row becomes an item of its own."""
    parts = [part[rows] for part in item_scores.parts]
    return ItemScores(names(len(rows)), parts[0], item_scores.aggregate, tuple(parts[1:]), item_scores.labels)


@pytest.mark.parametrize("aggregate", sorted(aggregates))
@given(seed=SEEDS)
@settings(max_examples=5)
def test_standard_errors_equal_a_loop_over_resamples(aggregate, seed):
    rng = np.random.default_rng(seed)
    scores = [sort_items(build_scores(aggregate, rng)) for _ in "ab"]
    ids = scores[0].ids
    drawn = np.random.default_rng([seed, 0, items_key(ids)])
    rows = [drawn.integers(0, 12, 12) for _ in range(40)]
    by_hand = np.array([[estimate(copied(each, some)) for some in rows] for each in scores])
    values = np.array([estimate(each) for each in scores])
    found = [draw_sample(each, resample(ids, 40, seed)) for each in scores]
    for sample, draws, value in zip(found, by_hand, values, strict=True):
        assert sample.error == pytest.approx(np.nanstd(draws) * (12 / 11) ** 0.5, nan_ok=True, abs=1e-9)
        assert sample.value == pytest.approx(value, nan_ok=True)
    # The difference is paired: both systems see the same resamples.
    gap = sample_difference(sum_samples([{0: sample} for sample in found], (1, -1)))
    between = np.nanvar(by_hand[0] - by_hand[1]) * 12 / 11
    further = gap.value**2 * (1 - (12 / 14) ** 2) / 13  # one more item for it, one against
    if between or gap.value:  # where all items agree, the two further ones differ by as much as is possible
        assert gap.variance == pytest.approx(between + further, nan_ok=True, abs=1e-9)
    assert bootstrap_interval(scores[0], seed=seed) == pytest.approx(
        bootstrap_interval(scores[0].take(np.arange(12)[::-1]), seed=seed), nan_ok=True, abs=1e-9
    )


def test_intervals_worked_by_hand():
    """Without a variance there are as many effective items as items: Wilson's 1 / (1 + n / t^2)."""
    t = 2.0930
    assert bootstrap_interval(mean([0] * 20)) == pytest.approx((0, 1 / (1 + 20 / t**2)), abs=1e-4)
    assert bootstrap_interval(mean([1] * 20)) == pytest.approx((1 / (1 + t**2 / 20), 1), abs=1e-4)
    low, high = bootstrap_interval(mean([1] + [0] * 19))
    assert 0 < low < 0.05 < 0.2 < high < 0.3
    # Twenty pairs that agree: as if one of 22 differed in either direction.
    same = paired_difference(mean([0, 1] * 10), mean([0, 1] * 10))
    assert (same.low, same.high) == pytest.approx((-t * (2 / 21 / 22) ** 0.5, t * (2 / 21 / 22) ** 0.5), abs=1e-4)
    # All gain alike: six items decide, as by the sign test (2 / 64), and four do not.
    assert paired_difference(mean([1] * 6), mean([0] * 6)).p < 0.05 < paired_difference(mean([1] * 4), mean([0] * 4)).p


@given(SEEDS, st.integers(1, 40))
@settings(max_examples=25)
def test_estimates_are_the_metrics(seed, items):
    rng = np.random.default_rng(seed)
    ids = names(items)
    gold, predicted = rng.integers(0, 4, (2, items))
    for average in ("macro", "micro"):
        found = estimate(score_classes(ids, gold, predicted, f"f1_{average}", labels=range(6)))
        assert found == pytest.approx(peers.f1_score(gold, predicted, average=average, zero_division=0))
    assert estimate(score_classes(ids, gold, predicted, "accuracy")) == peers.accuracy_score(gold, predicted)
    found = estimate(score_classes(ids, gold > 1, predicted > 1, "f1_binary"))
    assert found == pytest.approx(peers.f1_score(gold > 1, predicted > 1, zero_division=0))
    several, guessed = rng.integers(0, 2, (2, items, 3))
    for average in ("macro", "micro"):
        found = estimate(score_label_sets(ids, several, guessed, f"f1_{average}", labels=("x", "y", "z")))
        assert found == pytest.approx(peers.f1_score(several, guessed, average=average, zero_division=0))
    assert estimate(score_label_sets(ids, several, guessed, "accuracy")) == peers.accuracy_score(several, guessed)
    b3 = np.stack(b_cubed(gold, predicted), axis=1)
    assert estimate(ItemScores(ids, b3, "b3")) == pytest.approx(b_cubed_f1(*b3.T))
    for name, far in product(OF_NUMBERS, (0, 2e9)):
        expected = agreement(name, gold + far, predicted + far)
        found = estimate(score_numbers(ids, gold + far, predicted + far, name))
        assert found == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_a_collapsed_prediction_correlates_with_nothing():
    rng, ids = np.random.default_rng(0), names(9)
    gold, predicted = rng.random((2, 9))
    level = np.full(9, 2.5, np.float32)
    level[3] = np.nextafter(level[3], np.float32(3))

    def found(gold, predicted, aggregate="pearson_or_zero"):
        return estimate(score_numbers(ids, gold, predicted, aggregate))

    assert found(gold, level) == 0.0 and found(gold, np.zeros(9)) == 0.0
    assert np.isnan(found(gold, np.zeros(9), "pearson")) and np.isnan(found(np.zeros(9), predicted))
    assert found(gold, predicted) == found(gold, predicted, "pearson") != 0.0


def test_a_score_of_several_parts_is_their_mean_and_parts_share_the_draw():
    parts = [mean([0, 1, 1]), mean([0, 0, 1])]
    assert estimate(average_parts(parts)) == pytest.approx(0.5)
    opposite = average_parts([mean([0, 1, 0, 1]), mean([1, 0, 1, 0])])
    assert draw_sample(opposite, resample(opposite.ids, 50, 1)).error == 0
    with pytest.raises(InputError, match="same items"):
        average_parts([mean([1, 2]), mean([1, 2], "ab")])


def test_classes_that_a_part_does_not_have_do_not_change_its_macro_f1():
    ids, gold = names(4), np.array(["a", "a", "b", "b"])
    predicted = [np.array(["a", other, "b", "b"]) for other in "cd"]
    both = average_parts([score_classes(ids, gold, each, "f1_macro", labels=list("abcd")) for each in predicted])
    assert estimate(both) == pytest.approx(estimate(score_classes(ids, gold, predicted[0], "f1_macro")))
    with pytest.raises(InputError, match="the same aggregate and classes"):
        average_parts([score_classes(ids, gold, each, "f1_macro") for each in predicted])


def test_blocks_do_not_change_a_result(monkeypatch):
    item_scores, other = mean(np.arange(9.0)), mean(np.arange(9.0)[::-1])

    def found():
        gap = paired_difference(item_scores, other, seed=1, samples=50)
        return bootstrap_interval(item_scores, seed=1, samples=50), gap

    whole = found()
    monkeypatch.setattr(module, "CELLS", 30)
    assert found() == whole


def test_too_few_items_have_no_interval_or_a_point():
    assert np.isnan(estimate(mean([]))) and np.isnan(bootstrap_interval(mean([]), seed=0)).all()
    assert bootstrap_interval(mean([0.25])) == pytest.approx((0.002, 0.99), abs=0.01)  # hardly any knowledge
    assert np.isnan(bootstrap_interval(mean([25.0]))).all()
    constant = score_numbers(names(3), [1, 1, 1], [1, 2, 3], "kendall_tau")
    assert np.isnan(estimate(constant)) and np.isnan(bootstrap_interval(constant, seed=0, samples=20)).all()
    assert np.isnan(paired_difference(constant, constant, seed=0, samples=20).p)


def test_holm_worked_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.02, float("nan"), 0.9]) == pytest.approx([0.04, float("nan"), 0.9], nan_ok=True)
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0] and holm([]).tolist() == []


@pytest.mark.parametrize("aggregate", sorted(aggregates))
def test_what_is_written_is_read_to_the_last_bit(aggregate, tmp_path):
    item_scores = average_parts([build_scores(aggregate, np.random.default_rng(n)) for n in range(3)])
    path, key = tmp_path / "task.parquet", ("system", "task")
    write_score_table(path, {key: {"metric": item_scores}, ("other", "task"): {"metric": item_scores.take([2, 0])}})
    back, wanted = ScoreTable(path).read("task", "metric", "system"), sort_items(item_scores)
    assert (back.ids, back.aggregate, back.labels) == (wanted.ids, aggregate, wanted.labels)
    assert all(np.array_equal(one, other) for one, other in zip(back.parts, wanted.parts, strict=True))
    write_score_table(path, {key: {"metric": back}})
    first = path.read_bytes()
    write_score_table(path, {key: {"metric": item_scores}})
    assert path.read_bytes() == first and [p.name for p in tmp_path.iterdir()] == ["task.parquet"]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    pyarrow.parquet.write_table(pyarrow.table({"item": ["a"], "scores": [[1.0]]}), tmp_path / "earlier")
    write_score_table(tmp_path / "cut", {("one", "task"): {"mean": mean([1, 2, 3])}})
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:200])
    for path in tmp_path.iterdir():
        with pytest.raises(InputError, match=rf"(?s){path.name} holds no item scores.*evaluate the tasks again"):
            ScoreTable(path)


@pytest.mark.parametrize(
    ("ids", "columns", "aggregate", "message"),
    [
        ("aba", [1, 2, 3], "mean", "'a' has scores twice"),
        ("ab", [1, 2, 3], "mean", "2 items have columns"),
        ("ab", [[1, 2], [1, 2]], "mean", "'mean' reads 1: value"),
        ("ab", [[1, 2, 3], [1, 2, 3]], "f1_macro", "reads 0: true positive"),
        ("ab", [1, float("nan")], "mean", "item 'b' has a score that is not a finite number"),
        ("ab", [1, 2], "median", "unknown aggregate 'median'; known: accuracy, b3"),
    ],
)
def test_wrong_evidence_is_refused(ids, columns, aggregate, message):
    with pytest.raises(InputError, match=message):
        ItemScores(tuple(ids), np.array(columns), aggregate)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.records import Signature
from sciprism.uses.disambiguation import clustering
from sciprism.uses.disambiguation.clustering import MentionPairs, build_dendrograms, choose_settings, train_same_author

PLACES = np.array([0.0, 0.1, 0.5, 0.55, 0.9])
BLOCKS = {"a": np.array([0, 1, 2, 3]), "b": np.array([4])}


def first_column(table):
    return table[:, 0].astype(np.float64)


def distances_on_a_line(left, right):
    return np.abs(PLACES[left] - PLACES[right])[:, None].astype(np.float32)


def test_average_linkage_in_blocks():
    trees, other = build_dendrograms(BLOCKS, distances_on_a_line, [first_column, lambda table: 1 - first_column(table)])
    assert not np.array_equal(trees.linkages[0], other.linkages[0])
    rows, clusters = trees.cut(0.2)
    groups = {tuple(rows[clusters == c].tolist()) for c in np.unique(clusters)}
    assert groups == {(0, 1), (2, 3), (4,)}
    # the two pairs lie (0.5 + 0.55 + 0.4 + 0.45) / 4 = 0.475 first_column on average
    assert len(np.unique(trees.cut(0.47)[1])) == 3
    assert len(np.unique(trees.cut(0.48)[1])) == 2


def test_the_best_cut_lies_between_the_mistakes():
    (trees,) = build_dendrograms(BLOCKS, distances_on_a_line, [first_column])
    cut, score = clustering.choose_cut([trees], np.array([7, 7, 8, 8, 7]))
    assert score == 1.0 and 0.1 <= cut < 0.475
    (single,) = build_dendrograms({"b": np.array([4])}, distances_on_a_line, [first_column])
    with pytest.raises(InputError, match="no dev block"):
        clustering.choose_cut([single], np.zeros(5, np.int64))


def test_the_exact_name_rule_stays_in_blocks():
    mentions = [
        Signature(id=str(i), paper=0, name=name, block=block, author="x")
        for i, (name, block) in enumerate([("A. Lee", "p"), ("a lee", "p"), ("Ann Lee", "p"), ("A Lee", "q")])
    ]
    rows, clusters = clustering.cluster_by_name(mentions, clustering.group_by_block(mentions, frozenset({"p", "q"})))
    assert rows.tolist() == [0, 1, 2, 3] and clusters.tolist() == [0, 0, 1, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 40))
def test_samples_are_pairs_of_one_block_without_repeats(sizes, max_pairs):
    ends = np.cumsum(sizes)
    blocks = {str(n): np.arange(end - size, end) for n, (end, size) in enumerate(zip(ends, sizes, strict=True))}
    left, right = clustering.sample_pairs(blocks, max_pairs, np.random.default_rng(0))
    every = {tuple(pair) for rows in blocks.values() for pair in np.transpose(clustering.all_pairs(rows)).tolist()}
    sampled = list(zip(left.tolist(), right.tolist(), strict=True))
    assert len(sampled) == len(set(sampled)) == min(max_pairs, len(every)) and set(sampled) <= every


def build_pairs(seed, count=300):
    """Same persons share the year and their vectors; the other features say nothing."""
    rng = np.random.default_rng(seed)
    table = np.full((count, len(clustering.FEATURES)), np.nan, np.float32)
    same = rng.random(count) < 0.4
    table[:, 0] = rng.integers(0, 2, count)
    table[:, 13] = np.where(same, rng.integers(0, 6, count), rng.integers(3, 30, count))
    table[:, 33] = np.where(same, 1.7, 1.2) + rng.normal(0, 0.1, count)
    return MentionPairs(table, same)


def test_models_learn_and_repeat_themselves():
    pytest.importorskip("lightgbm")
    train, dev, test = build_pairs(1), build_pairs(2), build_pairs(3)
    settings_ = choose_settings(train, dev, trials=0, seed=0)
    one, other = train_same_author(train, dev, settings_, seeds=[0, 1])
    found = one.distances(test.table)
    assert found[test.same].mean() < 0.3 < 0.7 < found[~test.same].mean()
    (again,) = train_same_author(train, dev, settings_, seeds=[0])
    assert np.array_equal(found, again.distances(test.table))
    main, nameless = one.describe()
    assert (main["features"], nameless["features"]) == (3, 2)  # without the name; what is all NaN is left out
    (blind,) = train_same_author(train, dev, settings_, seeds=[0], groups=frozenset({"name", "year"}))
    shuffled = test.table.copy()
    shuffled[:, 33] = 0
    assert np.array_equal(blind.distances(shuffled), blind.distances(test.table))
    assert other.distances(test.table[:0]).shape == (0,)


def test_settings_are_drawn_from_the_space_and_searched():
    pytest.importorskip("lightgbm")
    sampled = clustering.sample_settings(np.random.default_rng(0))
    assert np.exp(-7) <= sampled["learning_rate"] <= 1 and 1000 <= sampled["n_estimators"] <= 2500
    chosen = choose_settings(build_pairs(1, 80), build_pairs(2, 80), trials=2, seed=0)
    assert chosen == choose_settings(build_pairs(1, 80), build_pairs(2, 80), trials=2, seed=0)


def test_pairs_of_one_kind_are_refused():
    pairs = build_pairs(1)
    alike = MentionPairs(pairs.table, np.ones(len(pairs.same), bool))
    with pytest.raises(InputError, match="the dev blocks hold 300 pairs"):
        train_same_author(pairs, alike, choose_settings(pairs, pairs, trials=0, seed=0), seeds=[0])

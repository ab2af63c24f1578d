"""Parts that keep the shares of labels: against scikit-learn, a plain twin, and what must always hold."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.prepare.samplers.strata import iteratively_stratified, stratified

classes = st.lists(st.integers(0, 6), min_size=2, max_size=80)
several = st.lists(st.sets(st.integers(0, 5), max_size=3).map(sorted), min_size=2, max_size=80)


@pytest.mark.parametrize(("size", "most"), [(100, 10), (997, 400), (2000, 1999), (5000, 123)])
def test_the_draw_is_that_of_scikit_learn(size, most):
    model_selection = pytest.importorskip("sklearn.model_selection")
    for seed in (42, 7):
        random = np.random.default_rng(size + seed)
        labels = np.concatenate(
            [np.arange(8), np.arange(8), random.geometric(0.3, size - 16).clip(max=8) - 1]
        )
        if most < 8 or size - most < 8:  # scikit-learn wants a row of each class in either part
            labels = np.zeros(size, int)
        kept, _ = model_selection.train_test_split(
            np.arange(size), train_size=most, random_state=seed, stratify=labels
        )
        assert stratified(labels, most, seed).tolist() == sorted(kept.tolist())


@given(classes, st.integers(0, 90))
def test_every_class_has_its_share(labels, most):
    kept = stratified(labels, most).tolist()
    if not most or most >= len(labels):
        assert kept == list(range(len(labels)))
        return
    assert kept == sorted({*kept}) and len(kept) == most
    counts, found = Counter(labels), Counter(labels[row] for row in kept)
    for label, count in counts.items():
        assert abs(found[label] - count * most / len(labels)) < 1 + 1e-9


def test_another_seed_draws_other_rows():
    labels = [0] * 50 + [1] * 50
    assert (
        stratified(labels, 10).tolist()
        == stratified(labels, 10).tolist()
        != stratified(labels, 10, 1).tolist()
    )
    some = [[n % 2] for n in range(100)]
    assert iteratively_stratified(some, 10).tolist() == iteratively_stratified(some, 10, 42).tolist()
    assert iteratively_stratified(some, 10).tolist() != iteratively_stratified(some, 10, 1).tolist()


@given(several, st.integers(0, 90))
def test_the_size_is_exact_and_rows_come_once(carried, most):
    kept = iteratively_stratified(carried, most).tolist()
    assert kept == sorted({*kept})
    assert len(kept) == (most if most and most < len(carried) else len(carried))


@given(classes, st.integers(1, 90))
def test_single_labels_are_stratified_too(labels, most):
    """One row after the other goes where its class is lacking; only the exact size moves the last ones."""
    kept = iteratively_stratified([[label] for label in labels], most).tolist()
    counts, found = Counter(labels), Counter(labels[row] for row in kept)
    share = min(1, most / len(labels))
    for label, count in counts.items():
        assert abs(found[label] - count * share) <= 1 + len(counts) / 2


def test_labels_of_a_large_set_keep_their_shares():
    """As many rows and labels as the fields of study have, at a hundredth: no label is a row off by 2%."""
    random = np.random.default_rng(0)
    shares = 1 / np.arange(2, 25)
    carried = [np.flatnonzero(random.random(23) < shares).tolist() for _ in range(6000)]
    kept = iteratively_stratified(carried, 4000).tolist()
    counts = Counter(label for row in carried for label in row)
    found = Counter(label for row in kept for label in carried[row])
    assert len(kept) == 4000
    assert all(abs(found[label] / count - 2 / 3) < 0.02 for label, count in counts.items())


def test_the_rarest_label_is_dealt_out_first():
    """Two of four rows have label 9, and two rows are kept: one of the two is, whatever else they have."""
    for seed in range(20):
        kept = iteratively_stratified([[0, 9], [0, 9], [0], [0]], 2, seed).tolist()
        assert len({0, 1} & {*kept}) == 1


def test_rows_without_labels_fill_the_rest():
    assert len(iteratively_stratified([[], [], [], [1]], 3)) == 3
    assert len(iteratively_stratified([[]] * 10, 4)) == 4


@given(several, st.integers(1, 40), st.integers(0, 3))
def test_a_plain_twin_deals_the_rows_alike(carried, most, seed):
    """The same algorithm, written to be read: everything is counted anew for each row."""
    if most >= len(carried):
        return
    assert iteratively_stratified(carried, most, seed).tolist() == twin(carried, most, seed)


def twin(carried, most, seed):
    from sciprism.seeding import random_fraction

    size, where = len(carried), {}
    order = sorted(range(size), key=lambda row: random_fraction(seed, row))

    def left(label):
        return sum(label in carried[row] for row in order if row not in where)

    def lacks(part, label):
        count = sum(label in each for each in carried)
        room = most if part == 0 else size - most
        return count * room / size - sum(label in carried[row] for row in where if where[row] == part)

    def room(part):
        return (most if part == 0 else size - most) - sum(part == at for at in where.values())

    while open_labels := [label for label in range(6) if left(label)]:
        label = min(open_labels, key=lambda label: (left(label), label))
        for row in order:
            if label in carried[row] and row not in where:
                free = [part for part in (0, 1) if room(part)]
                where[row] = max(
                    free, key=lambda p: (round(lacks(p, label), 9), room(p), random_fraction(seed, row, p))
                )
    for row in order:
        if row not in where:
            where[row] = 0 if room(0) else 1
    return sorted(row for row, part in where.items() if part == 0)


def test_the_hash_seed_of_python_changes_nothing():
    code = (
        "from sciprism.prepare.samplers.strata import *\n"
        "carried = [[n % 5, 5 + n % 3] for n in range(200)]\n"
        "print(iteratively_stratified(carried, 50), stratified([n % 5 for n in range(200)], 50))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(seed)
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1


def environment(seed):
    import os

    return os.environ | {"PYTHONHASHSEED": seed}

"""B-cubed against a plain reading of its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics.classification import b_cubed, b_cubed_f1


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcd")), min_size=1, max_size=30))
@settings(max_examples=60)
def test_equals_the_definition(pairs):
    gold, predicted = (list(side) for side in zip(*pairs, strict=True))
    precision, recall = b_cubed(gold, predicted)
    for n, (person, cluster) in enumerate(pairs):
        true = {i for i, pair in enumerate(pairs) if pair[0] == person}
        put = {i for i, pair in enumerate(pairs) if pair[1] == cluster}
        assert precision[n] == len(true & put) / len(put) and recall[n] == len(true & put) / len(true)


def test_a_clustering_worked_by_hand():
    precision, recall = b_cubed([1, 1, 1, 2], ["x", "x", "y", "y"])
    assert precision.tolist() == [1, 1, 0.5, 0.5]
    assert recall == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1])
    p, r = 3 / 4, 2 / 3
    assert b_cubed_f1(precision, recall) == pytest.approx(2 * p * r / (p + r))
    assert b_cubed_f1(precision, recall) == pytest.approx(0.706, abs=5e-4)


def test_ends_of_the_scale():
    assert b_cubed_f1(*b_cubed([3, 3, 5], ["a", "a", "b"])) == 1.0
    assert b_cubed_f1(*b_cubed(np.arange(4), np.zeros(4))) == pytest.approx(2 * 0.25 / 1.25)


def test_wrong_input_is_told():
    with pytest.raises(InputError, match="2 and 1"):
        b_cubed([1, 2], [1])
    with pytest.raises(InputError, match="no item"):
        b_cubed_f1(*b_cubed([], []))

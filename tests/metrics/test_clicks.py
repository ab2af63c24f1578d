"""Scores of clicked recommendations, worked by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics.rankings import click_scores


def test_clicks_worked_by_hand():
    shown = [[0.9, 0.5, 0.1], [0.2, 0.2, 0.7], [3.0, 1.0]]
    found = click_scores(shown, [0, 1, 1], [0.5, 0.25, 0.1])
    # above: none; one higher and one tie: 1.5; one
    assert found.gain == pytest.approx([1, 1 / log2(3.5), 1 / log2(3)])
    assert found.first.tolist() == [1, 0, 0] and found.weights.tolist() == [2, 4, 4]
    assert np.average(found.gain, weights=found.weights) == pytest.approx((2 + 4 / log2(3.5) + 4 / log2(3)) / 10)
    assert np.average(found.first, weights=found.weights) == pytest.approx(0.2)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=6), st.data())
def test_equals_a_count_of_what_stands_above(shown, data):
    clicked = [data.draw(st.integers(0, len(scores) - 1)) for scores in shown]
    found = click_scores(shown, clicked, [1.0, 0.5, 0.4, 0.3, 0.2])
    for scores, place, gain in zip(shown, clicked, found.gain, strict=True):
        others = scores[:place] + scores[place + 1 :]
        above = sum(1.0 if s > scores[place] else 0.5 if s == scores[place] else 0.0 for s in others)
        assert gain == pytest.approx(1 / log2(2 + above))


@pytest.mark.parametrize(
    ("shown", "clicked", "propensities", "message"),
    [
        ([], [], [1.0], "no click"),
        ([[1.0]], [1], [1.0, 1.0], "click 1: position 1 is outside the list of 1"),
        ([[1.0, 2.0]], [1], [1.0], "no propensity above 0"),
        ([[1.0]], [0], [0.0], "no propensity above 0"),
        ([[float("nan")]], [0], [1.0], "click 1, scores: number 1 is nan"),
        ([[1.0]], [0, 0], [1.0], "lists and clicks: 1 and 2"),
    ],
)
def test_wrong_input_is_told(shown, clicked, propensities, message):
    with pytest.raises(InputError, match=message):
        click_scores(shown, clicked, propensities)

"""Order of pairs against a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics.rankings import pair_order

ROWS = st.tuples(st.sampled_from("rst"), st.sampled_from([1.0, 2.0, 2.5, 5.0]), st.integers(-2, 2).map(float))


@given(st.lists(ROWS, max_size=25))
@settings(max_examples=60)
def test_equals_a_loop_over_pairs(rows):
    found = pair_order([r for r, _, _ in rows], [rating for _, rating, _ in rows], [score for _, _, score in rows])
    scores = dict(zip(found.raters, zip(found.values, found.weights, strict=True), strict=True))
    for rater in {r for r, _, _ in rows}:
        lost = total = 0.0
        for one, better, high in rows:
            for other, worse, low in rows:
                if one == other == rater and better > worse:
                    total += better - worse
                    lost += (better - worse) * (0.5 if high == low else float(high < low))
        if total:
            assert scores[rater] == (pytest.approx(1 - lost / total), pytest.approx(total))
        else:
            assert rater in found.unordered and rater not in scores


def test_raters_worked_by_hand():
    found = pair_order(["x", "x", "x", "y", "y", "z"], [5, 3, 1, 2, 1, 4], [0.9, 0.1, 0.5, 7, 7, 0])
    # x: 5>3 (2) and 5>1 (4) right, 3>1 (2) wrong; y: a tie; z: one paper
    assert found.raters == ("x", "y") and found.unordered == ("z",)
    assert found.values.tolist() == [0.75, 0.5] and found.weights.tolist() == [8, 1]
    assert found.mean == pytest.approx(6.5 / 9)


def test_nobody_and_wrong_input():
    assert np.isnan(pair_order([], [], []).mean)
    with pytest.raises(InputError, match="raters and ratings"):
        pair_order(["x"], [1, 2], [1, 2])
    with pytest.raises(InputError, match="scores: number 2 is nan"):
        pair_order(["x", "x"], [1, 2], [1, float("nan")])

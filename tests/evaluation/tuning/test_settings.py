"""Grids: what they may hold, and how the command line changes them."""

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.tuning import Tuning


def test_axes_of_a_grid_are_replaced():
    changed = Tuning(seeds=10).with_grid({"rate": [1e-4], "epochs": [2, 5]})
    assert changed.rates == (1e-4,) and changed.epochs == (2, 5) and changed.batches == (16, 32)
    assert changed.seeds == 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lr": [1e-4]}, "unknown axis of the grid 'lr'; known: rate, batch, epochs"),
        ({"batch": [1.5]}, "whole numbers"),
        ({"rate": [0.0]}, "above 0"),
        ({"epochs": [3, 3]}, "different numbers"),
        ({"rate": []}, "different numbers"),
    ],
)
def test_what_is_no_grid(given, message):
    with pytest.raises(InputError, match=message):
        Tuning().with_grid(given)

"""Tables whose tasks are fine-tuned: several runs of one model, their spread, and what is marked."""

import numpy as np
import pytest

from sciprism.tasks.reproduce.measured import Sample, apart, estimate


def row(*seeds):
    values = np.array(seeds, float)
    return Sample(values, np.full(100, values.mean()), n=5)


def test_a_mark_is_two_standard_deviations_of_the_wider_row():
    """Worked by hand: sd of (1, 3) is the root of 2, 1.414; twice that is 2.83."""
    assert row(1, 3).value == 2
    assert apart(row(1, 3), row(4.9, 4.9)) and not apart(row(1, 3), row(4.8, 4.8))
    assert not apart(row(1), row(9))
    assert estimate(row(1, 3)).spread == pytest.approx(2**0.5)
    assert estimate(row(1)).spread == 0.0

"""Ranks of neighbours, against a sort of all cosines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sciprism.prepare.samplers.triplets import nearest_neighbours, rows_with_vectors


def brute(vectors, row, first):
    others = [other for other in range(len(vectors)) if other != row and vectors[other].any()]
    return sorted(others, key=lambda other: (-float(vectors[row] @ vectors[other]), other))[:first]


@given(st.integers(0, 99), st.integers(3, 80), st.integers(0, 3))
def test_neighbours_are_those_of_a_sort(seed, size, alone):
    """Whole numbers: no rounding, so ties are ties."""
    random = np.random.default_rng(seed)
    vectors = random.integers(-1, 2, (size, 3)).astype(np.float32)
    vectors[random.integers(0, size, alone)] = 0
    rows = rows_with_vectors(vectors)
    first = max(1, (len(rows) - 1) // 2)
    if len(rows) <= first:
        return
    found = list(nearest_neighbours(vectors, rows, first))
    assert [each.tolist() for each in found] == [brute(vectors, row, first) for row in rows.tolist()]

"""Ranks of neighbours, against a sort of all cosines."""

import numpy as np
import torch
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


def test_any_number_of_threads_gives_the_same_neighbours():
    vectors = np.random.default_rng(0).standard_normal((500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = np.arange(0, 500, 3, dtype=np.int32)
    found, before = [], torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(np.stack([*nearest_neighbours(vectors, queries, 100)]))
    torch.set_num_threads(before)
    one, two = found
    assert one.dtype == np.int32 and one.tobytes() == two.tobytes()
    scores = np.take_along_axis(vectors[queries] @ vectors.T, one, 1)
    assert (np.diff(scores) <= 1e-6).all() and not (one == queries[:, None]).any()

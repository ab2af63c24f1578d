"""Vectors drawn at random: the same for the same text, even over the sphere."""

import numpy as np
import pytest

from sciprism.evaluation.systems.loading import RandomEncoder


def test_the_numbers_stay_the_same_from_release_to_release():
    """Drawn once and written down, the first three of them in proportion."""
    first = RandomEncoder().encode(["star"])[0][:3]
    assert (first / np.linalg.norm(first)).tolist() == pytest.approx(EXPECTED, abs=1e-6)


EXPECTED = [-0.060623, -0.4906583, -0.8692406]


def test_a_seed_makes_another_encoder():
    encoders = [RandomEncoder(), RandomEncoder(seed=1)]
    assert len({encoder.fingerprint for encoder in encoders}) == 2
    assert [encoder.name for encoder in encoders] == ["random", "random-1"]
    assert encoders[0].encode([]).shape == (0, 384)
    assert encoders[1].describe()["seed"] == 1 and encoders[1].path() == encoders[1].path("search", "query")

"""Vectors drawn at random: the same for the same text, even over the sphere."""

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.systems.loading import RandomEncoder


def test_the_numbers_stay_the_same_from_release_to_release():
    """Drawn once and written down."""
    assert RandomEncoder(dim=3).encode(["star"])[0].tolist() == pytest.approx(EXPECTED, abs=1e-7)


EXPECTED = [-0.060623, -0.4906583, -0.8692406]


def test_seed_and_width_make_another_encoder():
    encoders = [RandomEncoder(), RandomEncoder(seed=1), RandomEncoder(dim=8)]
    assert len({encoder.fingerprint for encoder in encoders}) == 3
    assert [encoder.name for encoder in encoders] == ["random", "random-1", "random"]
    assert encoders[2].encode([]).shape == (0, 8)
    assert encoders[1].describe()["seed"] == 1 and encoders[1].path() == encoders[1].path("search", "query")
    with pytest.raises(InputError):
        RandomEncoder(dim=0)

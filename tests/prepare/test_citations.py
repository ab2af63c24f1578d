"""Options of the samplers of triplets: their values, wrong keys."""

import pytest

from sciprism.errors import InputError
from sciprism.prepare.citations import samplers
from sciprism.training.recipe_file import parse_value


def test_a_value_is_toml_or_text():
    assert [*map(parse_value, ("0.1", "queries", "30", '"x"'))] == [0.1, "queries", 30, "x"]


@pytest.mark.parametrize("name", sorted(samplers))
def test_unknown_options_are_refused(name):
    with pytest.raises(InputError, match=r"most = 3: .*; known: seed = 0"):
        samplers[name](most=3)

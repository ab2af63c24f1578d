"""Options of the samplers of triplets: their values, wrong keys."""

import pytest

from sciprism.errors import InputError
from sciprism.prepare.citations import samplers


@pytest.mark.parametrize("name", sorted(samplers))
def test_unknown_options_are_refused(name):
    with pytest.raises(InputError, match=r"most = 3: .*; known: seed = 0"):
        samplers[name](most=3)

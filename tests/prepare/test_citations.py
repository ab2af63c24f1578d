"""Options of the samplers of triplets: their values, wrong keys."""

import pytest

from sciprism.errors import InputError
from sciprism.prepare.citations import parse_settings, samplers


def test_a_value_is_toml_or_text():
    found = parse_settings("scincl", ["far=0.1", "easy_from=queries", "max_queries=30", 'dim="x"'])
    assert found == {"far": 0.1, "easy_from": "queries", "max_queries": 30, "dim": "x"}


@pytest.mark.parametrize(("name", "word"), [("specter", "most=3"), ("scincl", "names=a"), ("given", "dim=2")])
def test_unknown_options_are_refused(name, word):
    with pytest.raises(InputError, match=f"--set {word}: the sampler {name} has no"):
        parse_settings(name, [word])


@pytest.mark.parametrize("name", sorted(samplers))
def test_the_settings_are_those_that_a_sampler_declares(name):
    settings = samplers[name].settings()
    assert samplers[name](seed=3, **settings) == samplers[name](seed=3)
    known = ", ".join(settings) + " .by default " if settings else "none"
    with pytest.raises(InputError, match=f"has no 'seed'; known: {known}"):
        parse_settings(name, ["seed=3"])

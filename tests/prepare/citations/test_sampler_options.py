"""Options of the samplers of triplets: their values, their former names, wrong keys."""

import warnings

import pytest

from sciprism.deprecation import RenamedWarning
from sciprism.errors import InputError
from sciprism.prepare.citations.registry import parse_settings, samplers


def test_a_value_is_toml_or_text():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parse_settings("scincl", ["far=0.1", "easy_from=queries", "max_queries=30", 'dim="x"'])
    assert found == {"far": 0.1, "easy_from": "queries", "max_queries": 30, "dim": "x"}


def test_the_former_name_is_read_with_a_warning():
    with pytest.warns(RenamedWarning, match="option of the sampler scincl 'most' is now 'max_queries'"):
        assert parse_settings("scincl", ["most=30"]) == {"max_queries": 30}
    with pytest.raises(InputError, match="'most' is the former name of 'max_queries', and both are given"):
        parse_settings("scincl", ["most=30", "max_queries=30"])


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

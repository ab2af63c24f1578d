import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.uses.disambiguation.names import (
    Name,
    advanced_similarity,
    common_subsequence,
    jaro_winkler,
    levenshtein,
    name_similarity,
    normalize,
    parse_name,
    prefix_distance,
)

WORDS = st.text("abc", max_size=6)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("S.M. Ryew", Name("s", ("m",), "ryew")),
        ("Alin Albu-Schäffer", Name("alin", (), "albu schaffer")),
        ("O’Neill, Jørgen-Émile", Name("jorgen", ("emile",), "oneill")),
        ("van der Berg, A B", Name("a", ("b",), "van der berg")),
        ("Plato", Name("", (), "plato")),
        ("王 伟", Name("王", (), "伟")),
        ("  ", Name("", (), "")),
    ],
)
def test_names_come_apart(written, name):
    assert parse_name(written) == name


def test_whole_and_block():
    name = parse_name("Ann B. Lee")
    assert (name.whole, name.block) == ("ann b lee", "a lee")


def test_normal_form_has_letters_and_single_spaces():
    assert normalize("  D'Arcy -- 42, Łódź_ß ") == "darcy lodz ss"


def test_six_features_of_given_names():
    found = name_similarity(parse_name("Ann B. C. Lee"), parse_name("Ann Beth Lee"))
    # initials b, c against b: 1 of 2; two middle names never equal one; an initial stands among the middles
    assert found == (1.0, 0.5, 0.0, 0.0, 0.0, 1.0)
    found = name_similarity(parse_name("A. Lee"), parse_name("Ann Beth Lee"))
    assert found[0] == 0.0 and found[3:] == (1.0, 1.0, 0.0)
    assert math.isnan(found[1]) and math.isnan(found[2])
    assert name_similarity(parse_name("A B Lee"), parse_name("A Beth Lee"))[2] == 1.0


def test_known_distances():
    assert levenshtein("kitten", "sitting") == 3
    assert common_subsequence("abcde", "ace") == 3
    assert prefix_distance("johann", "john") == pytest.approx(1 - 3 / 4)
    assert prefix_distance("jo", "john") == 0.0
    # Winkler's own examples
    assert jaro_winkler("martha", "marhta") == pytest.approx(0.9611, abs=1e-4)
    assert jaro_winkler("dwayne", "duane") == pytest.approx(0.84, abs=1e-4)
    assert jaro_winkler("dixon", "dicksonx") == pytest.approx(0.8133, abs=1e-4)
    assert jaro_winkler("abc", "xyz") == 0.0


def test_initials_have_no_advanced_features():
    assert all(map(math.isnan, advanced_similarity("a", "anna")))
    assert advanced_similarity("anna", "hanna") == pytest.approx((1 / 5, 1.0, 1 - 4 / 5, jaro_winkler("anna", "hanna")))


@settings(max_examples=50, deadline=None)
@given(WORDS, WORDS)
def test_distances_are_symmetric_and_bounded(one, other):
    assert levenshtein(one, other) == levenshtein(other, one) <= max(len(one), len(other))
    # two texts of the same letters apart from insertions and deletions: n + m - 2 LCS bounds the distance
    assert levenshtein(one, other) <= len(one) + len(other) - 2 * common_subsequence(one, other)
    assert jaro_winkler(one, one) == (1.0 if one else 0.0)
    assert 0 <= jaro_winkler(one, other) <= 1
    assert levenshtein(one, one) == 0 and common_subsequence(one, one) == len(one)

"""Verdicts by intervals: by hand, and the laws that they keep."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.reproduce.claims.claim import (
    DIRECTIONS,
    ClaimQuestion,
    ContrastSide,
    ScoreContrast,
    all_held,
    any_held,
    decide,
)
from sciprism.reproduce.claims.registry import claims

FOUR = ContrastSide(model="a", group="g"), ContrastSide(model="b", group="g")


@pytest.mark.parametrize(
    ("low", "high", "direction", "margin", "said"),
    [
        (0.1, 0.3, "above", 0.0, "held"),
        (-0.1, 0.3, "above", 0.0, "undecided"),  # the difference is positive, and that is not enough
        (-0.3, -0.1, "above", 0.0, "not held"),
        (0.0, 0.0, "above", 0.0, "not held"),  # no difference at all is none above
        (0.1, 0.3, "above", 0.2, "undecided"),
        (0.1, 0.2, "above", 0.2, "not held"),
        (-0.3, -0.1, "below", 0.0, "held"),
        (0.1, 0.3, "below", 0.0, "not held"),
        (-0.005, 0.3, "not below", 0.01, "held"),
        (-0.02, 0.3, "not below", 0.01, "undecided"),
        (-0.05, -0.02, "not below", 0.01, "not held"),
        (-0.004, 0.009, "within", 0.01, "held"),
        (-0.004, 0.02, "within", 0.01, "undecided"),
        (0.01, 0.02, "within", 0.01, "not held"),
        (-0.03, -0.02, "within", 0.01, "not held"),
        (math.nan, math.nan, "above", 0.0, "undecided"),
    ],
)
def test_an_interval_decides(low, high, direction, margin, said):
    assert decide((low, high), direction, margin) == said


EDGE = st.floats(-1, 1)


@given(EDGE, EDGE, st.floats(0, 0.5))
def test_laws(a, b, margin):
    low, high = sorted((a, b))
    assert decide((low, high), "above", margin) == decide((-high, -low), "below", margin)
    for direction in DIRECTIONS:
        wide = decide((low - 0.1, high + 0.1), direction, margin)
        narrow = decide((low, high), direction, margin)
        assert wide in (narrow, "undecided")  # a wider interval decides less, and nothing else
    if decide((low, high), "within", margin) == "held":
        assert decide((low, high), "not below", margin) == "held"


def test_questions_and_claims_unite():
    assert any_held(["undecided", "held", "not held"]) == "held"
    assert any_held(["not held", "not held"]) == "not held"
    assert any_held(["not held", "undecided"]) == any_held([]) == "undecided"
    assert all_held(["held", "held"]) == "held"
    assert all_held(["held", "undecided"]) == all_held([]) == "undecided"
    assert all_held(["undecided", "not held"]) == "not held"


def test_one_of_several_answers_asks_for_more():
    one, five = (ClaimQuestion((ScoreContrast(name="x", ours=FOUR[0], other=FOUR[1]),) * k) for k in (1, 5))
    assert one.level == pytest.approx(0.95) and five.level == pytest.approx(0.99)
    with pytest.raises(InputError, match="'sideways'"):
        ScoreContrast(name="x", ours=FOUR[0], other=FOUR[1], direction="sideways")


def test_every_claim_is_declared():
    wanted = [
        f"{letter}{n}" for letter, count in zip("SRMIP", (9, 7, 4, 6, 1), strict=True) for n in range(1, count + 1)
    ]
    assert sorted(claims) == sorted(wanted)
    for name, claim in claims.items():
        assert claim.id == name and claim.text and claim.figure and claim.test and claim.paper
    assert len(claims["S3"].questions) == 6 and claims["S3"].questions[0].level == pytest.approx(0.99)

"""Verdicts by intervals: by hand, and the laws that they keep."""

import math

import pytest

from evidence.claim import ClaimQuestion, ContrastSide, ScoreContrast
from evidence.claims import claims, settings
from evidence.verdict import combine_all, combine_any, combine_mixed, decide
from sciprism.errors import InputError

FOUR = ContrastSide(model="a", group="g"), ContrastSide(model="b", group="g")
SMALLER, NONE = "smaller than the paper's", "no difference seen"


@pytest.mark.parametrize(
    ("low", "high", "direction", "margin", "figure", "said"),
    [
        (0.1, 0.3, "above", 0.0, None, "held"),
        (0.1, 0.3, "above", 0.0, 0.2, "held"),
        (0.1, 0.3, "above", 0.0, 0.4, SMALLER),
        (-0.1, 0.3, "above", 0.0, 0.2, "undecided"),  # the difference is positive, and that is not enough
        (-0.1, 0.3, "above", 0.0, None, "undecided"),
        (0.0, 0.0, "above", 0.0, 0.4, NONE),
        (-0.3, -0.1, "above", 0.0, 0.2, "opposite"),
        (-0.3, -0.1, "below", 0.0, -0.2, "held"),
        (-0.3, 0.1, "below", 0.0, -0.4, NONE),
        (0.1, 0.3, "below", 0.0, -0.2, "opposite"),
        (-0.005, 0.3, "not below", 0.01, None, "held"),
        (-0.05, -0.02, "not below", 0.01, None, "opposite"),
        (0.03, 0.14, "not above", 0.15, None, "held"),
        (0.03, 0.16, "not above", 0.15, None, "undecided"),
        (-0.004, 0.009, "within", 0.01, None, "held"),
        (0.01, 0.02, "within", 0.01, None, "opposite"),
        (math.nan, math.nan, "above", 0.0, 0.1, "undecided"),
    ],
)
def test_an_interval_decides(low, high, direction, margin, figure, said):
    assert decide((low, high), direction, margin=margin, figure=figure) == said


def test_questions_and_claims_combine():
    assert combine_any(["undecided", "held", "opposite"]) == "held"
    assert combine_any([SMALLER, "not tested"]) == SMALLER
    assert combine_any(["opposite", "opposite"]) == "opposite"
    assert combine_any(["opposite", "undecided"]) == "undecided"
    assert combine_any([]) == combine_all([]) == "not tested"
    assert combine_all(["held", SMALLER]) == SMALLER
    assert combine_all(["held", "undecided"]) == "undecided"
    assert combine_all(["not tested", "undecided", "held"]) == "not tested"
    assert combine_all(["undecided", NONE, "not tested"]) == NONE
    assert combine_all(["undecided", "opposite", NONE]) == "opposite"


def test_some_positive_and_some_negative():
    above, below, around = (0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)
    assert combine_mixed([above, around, below], ["held", NONE, "opposite"]) == "held"
    assert combine_mixed([above, above], ["held", "opposite"]) == "opposite"  # none is hurt
    assert combine_mixed([above, around], ["held", NONE]) == "undecided"
    assert combine_mixed([around, around], [NONE, NONE]) == NONE
    assert combine_mixed([], ["not tested"]) == "not tested"


def test_one_of_several_answers_asks_for_more():
    one, five = (ClaimQuestion((ScoreContrast(name="x", ours=FOUR[0], other=FOUR[1]),) * k) for k in (1, 5))
    assert one.level == pytest.approx(0.95) and five.level == pytest.approx(0.99)
    with pytest.raises(InputError, match="'sideways'"):
        ScoreContrast(name="x", ours=FOUR[0], other=FOUR[1], direction="sideways")


def test_every_claim_is_declared():
    wanted = [
        f"{letter}{n}" for letter, count in zip("SRMIP", (9, 7, 7, 6, 1), strict=True) for n in range(1, count + 1)
    ]
    wanted[wanted.index("I2")] = "I2a"
    assert sorted(claims) == sorted([*wanted, "I2b"])
    for name, claim in claims.items():
        assert claim.id == name and claim.text and claim.figure and claim.test and settings[claim.paper]
        for contrast in (contrast for question in claim.questions for contrast in question.contrasts):
            sign = {"above": 1, "below": -1}.get(contrast.direction, 0)
            assert contrast.figure is None or contrast.figure * sign >= 0, contrast.name  # the paper's own direction
    assert {question.rule for question in claims["S3"].questions} == {"mixed"}
    assert claims["S3"].questions[0].level == pytest.approx(0.99)
    vanilla = claims["S2"].questions[0].contrasts[0]
    assert vanilla.figure == pytest.approx(62.21 / 60.31 - 1, abs=5e-5)  # Table 9 from the averages of Table 3

"""Answers in training files: names of classes, or a number, under DPR's own key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.papers import Paper
from sciprism.training.examples import Example, from_row, to_row

PAPER = Paper(id="p", title="Ice", abstract="Cold.")
number = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)


@given(st.lists(st.text(max_size=5) | number, min_size=1, max_size=4))
def test_answers_come_back(answers):
    example = Example(PAPER, (), answers=tuple(answers))
    row = json.loads(json.dumps(to_row(example)))
    assert row["answers"] == answers and row["positive_ctxs"] == []
    assert from_row(row, query="paper", candidate="label") == example


def test_only_a_row_with_neither_positive_nor_answer_is_dropped():
    row = to_row(Example(PAPER, ()))
    assert from_row(row, query="paper", candidate="paper") is None
    assert from_row({**row, "answers": None}, query="paper", candidate="paper") is None
    assert from_row({**row, "answers": [0]}, query="paper", candidate="paper").answers == (0,)
    assert from_row({**row, "answers": ["x"]}, query="paper", candidate="paper").positives == ()
    kept = {key: value for key, value in row.items() if key != "answers"} | {"positive_ctxs": [{"title": "t"}]}
    assert from_row(kept, query="paper", candidate="paper").answers == ()


@pytest.mark.parametrize(
    "wrong", ["Physics", 3, False, [True], [None], [float("nan")], [float("inf")], [10**400], [["a"]]]
)
def test_other_answers_are_refused(wrong):
    row = to_row(Example(PAPER, (PAPER,))) | {"answers": wrong}
    with pytest.raises(ValueError, match="answers: expected"):
        from_row(row, query="paper", candidate="paper")

"""Answers in windows, and the losses of heads, by hand and by brute force."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sciprism.datasets.inputs import Answer
from sciprism.evaluation import tuning as heads
from sciprism.evaluation.protocols import fine_tuning as spans

WORDS = np.array([[0, 3], [4, 7], [7, 9], [10, 14]])  # "the sea" + "son" "ends", the second word in two pieces


@pytest.mark.parametrize(
    ("start", "text", "wanted"),
    [
        (0, "the", (1, 1)),
        (4, "season", (2, 3)),
        (5, "ea", (2, 2)),
        (8, "n ends", (3, 4)),
        (0, "the season ends", spans.NO_ANSWER),
        (12, "ds and", spans.NO_ANSWER),
        (3, " ", spans.NO_ANSWER),
    ],
)
def test_the_position_of_an_answer(start, text, wanted):
    """Every token that covers one of its characters; what reaches out of the window is not there."""
    offsets = WORDS if text != "the season ends" else WORDS[1:]
    assert spans.find_answer(Answer(text=text, start=start), offsets) == wanted


SCORES = st.integers(-5, 5).map(float)


@given(
    outputs=st.integers(0, 9).flatmap(lambda n: arrays(np.float32, (n + 1, 2), elements=SCORES)),
    max_tokens=st.integers(1, 12),
)
def test_the_best_span_is_that_of_all_pairs(outputs, max_tokens):
    n = len(outputs) - 1
    offsets = [(10 * token, 10 * token + 7) for token in range(n)]
    pairs = [(i, j) for i in range(n) for j in range(i, min(n, i + max_tokens))]
    scores = {(i, j): float(outputs[i + 1, 0] + outputs[j + 1, 1]) for i, j in pairs}
    score, (start, end) = spans.find_best_span(outputs, offsets, max_tokens)
    assert score == max(scores.values(), default=-math.inf)
    if pairs:
        assert scores[start // 10, (end - 7) // 10] == score
    else:
        assert (start, end) == (0, 0)


def test_the_losses_of_heads_by_hand():
    """Cross-entropy of two equal scores is ln 2; of scores ln 3 and 0, ln 4/3 for the first."""
    ln2, ln3 = math.log(2), math.log(3)
    classes = heads.text_loss("class", torch.tensor([[0.0, 0.0], [ln3, 0.0]]), [1, 0])
    assert classes.item() == pytest.approx(ln2 + math.log(4 / 3))
    assert heads.text_loss("class", torch.zeros(0, 2), []).item() == 0
    labels = heads.text_loss("labels", torch.tensor([[0.0, ln3], [0.0, 0.0]]), [[1, 0], [0, 0]])
    assert labels.item() == pytest.approx((ln2 + math.log(4) + ln2 + ln2) / 2)
    assert heads.text_loss("number", torch.tensor([[1.0], [4.0]]), [3.0, 4.5]).item() == 4.25


def test_the_loss_of_spans_by_hand():
    """Windows of 2 and 3 positions: start and end of each by themselves, their mean, the sum over windows."""
    ln3 = math.log(3)
    outputs = torch.tensor([[0.0, ln3], [0.0, 0.0], [0.0, 0.0], [0.0, ln3], [0.0, 0.0]])
    first = (math.log(2) + math.log(4 / 3)) / 2  # start at 0 of (0, 0), end at 0 of (ln 3, 0)
    second = (math.log(3) + math.log(5)) / 2  # start at 2 of (0, 0, 0), end at 2 of (0, ln 3, 0)
    assert heads.span_loss(outputs, [2, 3], [(0, 0), (2, 2)]).item() == pytest.approx(first + second)

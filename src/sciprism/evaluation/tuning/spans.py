"""Answers among the tokens of a window: where one is, and which one the scores of its tokens pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sciprism.datasets.inputs import Answer
from sciprism.evaluation.tuning.examples import Offsets
from sciprism.evaluation.tuning.runs import Outputs

NOWHERE = (0, 0)
"""Start and end of a window without the answer: its first token."""


def place_of(answer: Answer, offsets: Offsets) -> tuple[int, int]:
    """Return the first and last place of an answer in a window, NOWHERE where it is not wholly inside.

    offsets: characters (n, 2) of the context's tokens in order; they are places 1 to n, the first token of
    the window is place 0.
    """
    last = answer.start + len(answer.text) - 1
    covers = (offsets[:, 0] <= last) & (offsets[:, 1] > answer.start)
    inside = len(offsets) and offsets[0, 0] <= answer.start and offsets[-1, 1] > last
    if not inside or not covers.any():
        return NOWHERE
    found = np.flatnonzero(covers)
    return int(found[0]) + 1, int(found[-1]) + 1


def best(outputs: Outputs, offsets: Sequence[Any] | Offsets, longest: int) -> tuple[float, tuple[int, int]]:
    """Return the best sum of a start's and an end's score, and the characters from one to the other.

    outputs: (n + 1, 2) of place 0 and the n tokens. The end is none before the start, and at most `longest`
    tokens are from one to the other; minus infinity where there is no token.
    """
    starts, ends = outputs[1:, 0], outputs[1:, 1]
    if not len(starts):
        return -np.inf, (0, 0)
    found = (-np.inf, 0, 0)
    for more in range(min(longest, len(starts))):
        sums = starts[: len(starts) - more] + ends[more:]
        place = int(sums.argmax())
        found = max(found, (float(sums[place]), place, place + more), key=lambda each: each[0])
    score, first, last = found
    return score, (int(offsets[first][0]), int(offsets[last][1]))

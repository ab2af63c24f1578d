"""Answer spans in a window: the tokens of a known answer, and the best span by token scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sciprism.datasets.inputs import Answer
from sciprism.evaluation.tuning.examples import Offsets
from sciprism.evaluation.tuning.runs import Outputs

NO_ANSWER = (0, 0)
"""Start and end of a window without the answer: its first token."""


def find_answer(answer: Answer, offsets: Offsets) -> tuple[int, int]:
    """Return the first and last position of an answer in a window, NO_ANSWER where it is not wholly inside.

    offsets: characters (n, 2) of the context's tokens in order; they have positions 1 to n, the first token
    of the window has position 0.
    """
    last = answer.start + len(answer.text) - 1
    covers = (offsets[:, 0] <= last) & (offsets[:, 1] > answer.start)
    inside = len(offsets) and offsets[0, 0] <= answer.start and offsets[-1, 1] > last
    if not inside or not covers.any():
        return NO_ANSWER
    found = np.flatnonzero(covers)
    return int(found[0]) + 1, int(found[-1]) + 1


def find_best_span(
    outputs: Outputs, offsets: Sequence[Any] | Offsets, max_tokens: int
) -> tuple[float, tuple[int, int]]:
    """Return the best sum of a start's and an end's score, and the characters from one to the other.

    outputs: (n + 1, 2) of position 0 and the n tokens. The end is not before the start, and the span has at
    most `max_tokens` tokens; the score is minus infinity where there is no token.
    """
    starts, ends = outputs[1:, 0], outputs[1:, 1]
    if not len(starts):
        return -np.inf, (0, 0)
    best = (-np.inf, 0, 0)
    for more in range(min(max_tokens, len(starts))):
        sums = starts[: len(starts) - more] + ends[more:]
        first = int(sums.argmax())
        best = max(best, (float(sums[first]), first, first + more), key=lambda each: each[0])
    score, first, last = best
    return score, (int(offsets[first][0]), int(offsets[last][1]))

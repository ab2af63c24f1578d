"""Match submissions with reviewers by the reviewers' papers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows

BLOCK = 4096
"""Submissions that are compared with one reviewer's papers at once."""


def score_pairs(vectors: Floats, profiles: Sequence[Rows], pairs: Rows, best: int) -> Doubles:
    """Score each pair (p,) by the mean of the `best` highest cosines with the reviewer's papers (SciRepEval).

    vectors: (n, d) of all papers. profiles[j]: rows of reviewer j's papers. pairs: (p, 2), a submission's row
    and a reviewer's number.
    """
    scores = np.empty(len(pairs))
    for number in np.unique(pairs[:, 1]):
        positions = np.flatnonzero(pairs[:, 1] == number)
        profile = _normalize(vectors[profiles[number]])
        for start in range(0, len(positions), BLOCK):
            part = positions[start : start + BLOCK]
            scores[part] = mean_of_best(_normalize(vectors[pairs[part, 0]]) @ profile.T, best)
    return scores


def mean_of_best(similarities: Doubles, best: int) -> Doubles:
    """Return the mean of each row's `best` highest values, or of all if there are fewer. (n, p) -> (n,)."""
    if similarities.shape[1] > best:
        similarities = np.partition(similarities, -best, axis=1)[:, -best:]
    mean: Doubles = similarities.mean(axis=1)
    return mean


def _normalize(vectors: Floats) -> Doubles:
    """Scale rows to length 1 in double precision; a zero vector stays zero."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    unit: Doubles = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    return unit

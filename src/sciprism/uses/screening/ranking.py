"""Rank the records of a review by the decisions so far: a linear SVM on words and vectors, in its dual form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.index.lexical import split_words
from sciprism.uses.tagging.paper_space import Terms

COST = 0.11  # C of the squared hinge loss
BALANCE = 10.0  # weight of all included records together, relative to all excluded ones
MAX_TRAINING = 2000  # excluded records that are learned from, the latest; bounds the time of a training
MAX_STEPS = 20
VECTOR_SHARE = 0.05  # of the vectors in the similarity of two records, beside their words
BLOCK = 16  # records whose similarities are computed at once


class RecordRanker:
    """Scores all records by those that were included and excluded.

    texts: of all n records. vectors: (n, d), whose cosines, with their mean taken off, count a twentieth; else words
    alone.
    """

    def __init__(self, texts: Sequence[str], vectors: Floats | None = None) -> None:
        words = [*map(split_words, texts)]
        self._words = Terms.learn(words, max_share=1).weigh(words)
        self._vectors = None if vectors is None else normalize_rows(vectors - vectors.mean(axis=0))
        self._rows: dict[int, Floats] = {}

    def compare(self, rows: Rows) -> Floats:
        """Return the similarities of some records with all, (m, n)."""
        missing = [row for row in rows.tolist() if row not in self._rows]
        for first in range(0, len(missing), BLOCK):
            block = missing[first : first + BLOCK]
            similarities = self._words.multiply(self._words.to_columns(block)).T.numpy()
            if self._vectors is not None:
                cosines = self._vectors[block] @ self._vectors.T
                similarities = (1 - VECTOR_SHARE) * similarities + VECTOR_SHARE * cosines
            self._rows |= dict(zip(block, similarities, strict=True))
        return np.stack([self._rows[row] for row in rows.tolist()])

    def score(self, included: Rows, excluded: Rows) -> Floats:
        """Return a score of each record (n,), the higher the likelier to be included.

        Without excluded records the score is the mean similarity with the included ones, of which there must be some.
        """
        if not len(excluded):
            return np.asarray(self.compare(included).mean(axis=0), np.float32)
        excluded = excluded[-MAX_TRAINING:]
        rows = np.concatenate([included, excluded])
        targets = np.repeat(np.array([1, -1], np.float32), [len(included), len(excluded)])
        weights = np.repeat([1.0, len(included) / (BALANCE * len(excluded))], [len(included), len(excluded)])
        costs = COST * weights * len(rows) / weights.sum()
        similarities = self.compare(rows) + 1  # the 1 stands for an intercept
        scores: Floats = fit_svm(similarities[:, rows], targets, costs.astype(np.float32)) @ similarities
        return scores


def fit_svm(kernel: Floats, targets: Floats, costs: Floats) -> Floats:
    """Return the weight of each example (m,) in a linear SVM of squared hinge loss (Chapelle 2007, Newton's method).

    kernel: (m, m). targets: 1 or -1. costs: C of each. The score of a record is the sum of its similarities to the
    examples, so weighted.
    """
    active, weights = np.ones(len(targets), bool), np.zeros(len(targets), np.float32)
    for _ in range(MAX_STEPS):
        matrix = kernel[np.ix_(active, active)] + np.diag(1 / (2 * costs[active]))
        weights[:] = 0
        weights[active] = np.linalg.solve(matrix, targets[active])
        inside = targets * (kernel @ weights) < 1
        if np.array_equal(inside, active):
            break
        active = inside
    return weights

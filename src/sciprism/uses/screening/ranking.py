"""Rank the records of a review by the decisions so far: a linear SVM on their words, in its dual form."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch

from sciprism.arrays import Floats, Rows
from sciprism.index.lexical import split_words

COST = 0.11  # C of the squared hinge loss
BALANCE = 10.0  # weight of all included records together, relative to all excluded ones
MAX_TRAINING = 2000  # excluded records that are learned from, the latest; bounds the time of a training
MAX_STEPS = 20
BLOCK = 16  # records whose similarities are computed at once


class RecordRanker:
    """Scores all records by those that were included and excluded.

    texts: of all n records; words are weighed by TF-IDF.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = count_terms(texts)
        self._rows: dict[int, Floats] = {}

    def compare(self, rows: Rows) -> Floats:
        """Return the similarities of some records with all, (m, n)."""
        missing = [row for row in rows.tolist() if row not in self._rows]
        for first in range(0, len(missing), BLOCK):
            block = missing[first : first + BLOCK]
            dense = torch.stack([self._words[row].to_dense() for row in block], dim=1)  # (words, m)
            self._rows |= dict(zip(block, (self._words @ dense).T.numpy(), strict=True))
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


def count_terms(texts: Sequence[str]) -> torch.Tensor:
    """Return the words of texts as a sparse matrix (n, words): log counts times rarity, rows of length 1.

    Words of a single text are left out: they relate it to no other.
    """
    counts = [Counter(split_words(text)) for text in texts]
    spread = Counter(word for count in counts for word in count)
    numbers = {word: number for number, word in enumerate(word for word, count in spread.items() if count > 1)}
    rarity = np.log((1 + len(texts)) / (1 + np.fromiter(map(spread.get, numbers), float, len(numbers)))) + 1
    rows, starts = [{numbers[word]: many for word, many in count.items() if word in numbers} for count in counts], [0]
    values = np.zeros(sum(map(len, rows)), np.float32)
    for row in rows:
        weights = (1 + np.log(list(row.values()))) * rarity[list(row)]
        starts.append(starts[-1] + len(row))
        values[starts[-2] : starts[-1]] = weights / max(np.linalg.norm(weights), 1e-9)
    words = np.fromiter(chain.from_iterable(rows), np.int64, len(values))
    with warnings.catch_warnings(action="ignore"):  # that such matrices are a beta version of torch
        return torch.sparse_csr_tensor(
            torch.tensor(starts),
            torch.from_numpy(words),
            torch.from_numpy(values),
            size=(len(texts), max(1, len(numbers))),
        )

"""Rank the records of a review by the decisions so far: a linear SVM on their words, in its dual form."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.index.lexical import split_words

COST = 0.11
"""C of the squared hinge loss."""
BALANCE = 10.0
"""Weight of all included records together, relative to all excluded ones."""
MAX_TRAINING = 2000
"""Excluded records that are learned from, the latest; bounds the time of a training."""
MAX_STEPS = 20
BLOCK = 16  # records whose similarities are computed at once


class Ranker:
    """Scores all records by those that were included and excluded.

    texts: of all n records; words and pairs of words are weighed by TF-IDF.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = count_terms(texts)
        self._rows: dict[int, Floats] = {}

    def compare(self, rows: Rows) -> Floats:
        """Return the similarities of some records with all, (m, n)."""
        missing = [row for row in rows.tolist() if row not in self._rows]
        for first in range(0, len(missing), BLOCK):
            block = missing[first : first + BLOCK]
            dense = torch.stack([self._words[row].to_dense() for row in block], dim=1)  # (terms, m)
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
        targets = np.repeat(np.float32([1, -1]), [len(included), len(excluded)])
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
    """Return words and pairs of words of texts as a sparse matrix (n, terms): log counts times rarity, rows of length 1.

    Terms of a single text are left out: they relate it to no other.
    """
    counts = [Counter([*words, *zip(words, words[1:], strict=False)]) for words in map(split_words, texts)]
    spread = Counter(term for count in counts for term in count)
    numbers = {term: number for number, term in enumerate(term for term, texts in spread.items() if texts > 1)}
    rarity = np.log((1 + len(texts)) / (1 + np.fromiter((spread[term] for term in numbers), float, len(numbers)))) + 1
    terms = [[numbers[term] for term in count if term in numbers] for count in counts]
    values = [
        normalize_rows(((1 + np.log([count[term] for term in count if term in numbers])) * rarity[own])[None])[0]
        for count, own in zip(counts, terms, strict=True)
    ]
    starts = np.cumsum([0, *map(len, terms)])
    columns = torch.tensor([term for own in terms for term in own], dtype=torch.int64)
    entries = torch.from_numpy(np.concatenate(values).astype(np.float32))
    with warnings.catch_warnings(action="ignore"):  # that its matrices are a beta version
        return torch.sparse_csr_tensor(
            torch.from_numpy(starts), columns, entries, size=(len(texts), max(1, len(numbers)))
        )

"""Rank the records of a review by a linear SVM on words and vectors; test whether to stop; replay finished reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp, floor, lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.errors import InputError
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


TARGET, RISK = 0.95, 0.05  # the recall that is aimed at, and the p-value below which the test advises to stop


def recall_p_value(found: Sequence[bool], records: int, target: float, known: int = 0) -> float:
    """Return the p-value of "recall is below the target" (Callaghan and Müller-Hansen 2020, Systematic Reviews 9:273).

    found: of each screened record in the order of screening, whether it was included. records: all that were to be
    screened. known: included ones known before, which count as found. The records since some moment are taken for a
    random sample of what was unscreened then, the worst case of a ranking; the moment is the one of the lowest p.
    """
    total, lowest = known + sum(found), 1.0
    hits = [0, *(place + 1 for place, hit in enumerate(found) if hit)]  # other moments have a higher p
    for before, start in enumerate(hits):
        urn, sample = records - start, len(found) - start
        expected = floor(total / target - known - before + 1)  # in the urn, if recall is just below the target
        if expected > urn:
            return 0.0
        lowest = min(lowest, hypergeometric_cdf(total - known - before, urn, expected, sample))
    return lowest


def hypergeometric_cdf(most: int, urn: int, marked: int, sample: int) -> float:
    """Return the probability of at most so many marked ones in a sample without replacement."""

    def choose(n: int, k: int) -> float:
        return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

    fewest = max(0, sample - (urn - marked))
    terms = (choose(marked, k) + choose(urn - marked, sample - k) for k in range(fewest, min(most, marked, sample) + 1))
    return min(1.0, sum(exp(term - choose(urn, sample)) for term in terms))


def measure_agreement(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two screeners' decisions on the same records; None where it is not defined."""
    agreed = sum(one == other for one, other in pairs)
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(ones[word] * others[word] for word in ones) / max(len(pairs), 1)
    return None if by_chance == len(pairs) else (agreed - by_chance) / (len(pairs) - by_chance)


BATCH = 0.05  # records between two trainings, as a share of those screened: one at a time up to 40, then more
CHECKS = 100  # how often the test on recall is made in a replay


def simulate(
    texts: Sequence[str], labels: Sequence[bool], *, vectors: Floats | None = None, seeds: int = 10
) -> list[list[bool]]:
    """Replay a labelled review from several starts, each of one random included and one random excluded record.

    vectors: of the records, (n, d); else words alone rank. Returns of each start whether the records are included, in
    the order of screening, without the two known before.
    Raises InputError unless there are two included records and one excluded.
    """
    truth = np.array(labels, bool)
    if truth.sum() < 2 or truth.all():
        counts = f"{truth.sum():,} of {len(truth):,} labelled records are included"
        raise InputError(f"{counts}; a simulation needs two that are and one that is not")
    ranker = RecordRanker(texts, vectors)
    return [truth[replay(ranker.score, truth, seed)[2:]].tolist() for seed in range(seeds)]


def replay(score: Callable[[Rows, Rows], Floats], truth: np.ndarray[Any, Any], seed: int) -> Rows:
    """Return the records in the order of screening, the two priors first. score: that of `RecordRanker`."""
    generator = np.random.default_rng(seed)
    order = np.array([generator.choice(np.flatnonzero(truth == label)) for label in (True, False)], np.int64)
    left = np.setdiff1d(np.arange(len(truth)), order)
    while truth[left].any():
        scores = score(order[truth[order]], order[~truth[order]])
        batch = left[np.argsort(-scores[left], kind="stable")[: max(1, int(BATCH * len(order)))]]
        order, left = np.concatenate([order, batch]), np.setdiff1d(left, batch)
    return np.concatenate([order, left])


def measure_work(found: ArrayLike, recall: float = 0.95) -> dict[str, Any]:
    """Return what finding included records cost. found: of each record in the order of screening, if it is included.

    needed: records until so much recall. wss: the share of work saved over a random order. atd: the mean rank of an
    included record as a share of all (average time to discovery).
    """
    ranks, records = np.flatnonzero(found) + 1, np.size(found)
    needed = int(ranks[int(np.ceil(recall * len(ranks))) - 1])
    return {"needed": needed, "wss": recall - needed / records, "atd": float(ranks.mean()) / records}


def find_stop(found: Sequence[bool], target: float = TARGET, risk: float = RISK) -> dict[str, Any]:
    """Return after how many records of a replay the test on recall first advised to stop, and the recall there."""
    checks = range(1, len(found), max(1, len(found) // CHECKS))
    stop = next((done for done in checks if recall_p_value(found[:done], len(found), target, known=1) < risk), None)
    return {"stop": stop, "recall at stop": None if stop is None else sum(found[:stop]) / sum(found)}

"""Rank the records of a review by a linear SVM on words and vectors; test whether to stop; replay finished reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.errors import InputError
from sciprism.index.lexical import split_words

COST = 0.11  # C of the squared hinge loss
BALANCE = 10.0  # weight of all included records together, relative to all excluded ones
MAX_TRAINING = 2000  # excluded records that are learned from, the latest; bounds the time of a training
VECTOR_SHARE = 0.05  # of the vectors in the similarity of two records, beside their words


class RecordRanker:
    """Scores all records by those that were included and excluded.

    texts: of all n records. vectors: (n, d), whose cosines, with their mean taken off, count as `share` says; else
    words alone.
    """

    def __init__(self, texts: Sequence[str], vectors: Floats | None = None, share: float = VECTOR_SHARE) -> None:
        from scipy.sparse import csr_array, hstack

        from sciprism.uses.tagging.evidence import learn_terms

        words = learn_terms(texts, split_words, max_share=1.0).transform(texts)
        self.features = csr_array(words)
        if vectors is not None:
            unit = csr_array(normalize_rows(vectors - vectors.mean(axis=0)))
            self.features = csr_array(hstack([(1 - share) ** 0.5 * words, share**0.5 * unit]))

    def score(self, included: Rows, excluded: Rows) -> Floats:
        """Return a score of each record (n,), the higher the likelier to be included.

        Without excluded records the score is the mean similarity with the included ones, of which there must be some.
        """
        from sklearn.svm import LinearSVC

        if not len(excluded):
            return np.asarray(self.features @ self.features[included].mean(axis=0), np.float32)
        excluded = excluded[-MAX_TRAINING:]
        counts = [len(included), len(excluded)]
        weights = np.repeat([1.0, len(included) / (BALANCE * len(excluded))], counts)
        svm = LinearSVC(C=COST, dual=False)
        rows = np.concatenate([included, excluded])
        svm.fit(self.features[rows], np.repeat([1, -1], counts), weights * len(rows) / weights.sum())
        return np.asarray(svm.decision_function(self.features), np.float32)


TARGET, RISK = 0.95, 0.05  # the recall that is aimed at, and the p-value below which the test advises to stop


def recall_p_value(found: Sequence[bool], records: int, target: float, known: int = 0) -> float:
    """Return the p-value of "recall is below the target" (Callaghan and Müller-Hansen 2020, Systematic Reviews 9:273).

    found: of each screened record in the order of screening, whether it was included. records: all that were to be
    screened. known: included ones known before, which count as found. The records since some moment are taken for a
    random sample of what was unscreened then, the worst case of a ranking; the moment is the one of the lowest p.
    """
    from scipy.stats import hypergeom

    total = known + sum(found)
    hits = np.append(0, np.flatnonzero(found) + 1)  # other moments have a higher p
    before = np.arange(len(hits))
    expected = np.floor(total / target - known - before + 1)  # in the urn, if recall is just below the target
    if (expected > records - hits).any():
        return 0.0
    return float(hypergeom.cdf(total - known - before, records - hits, expected, len(found) - hits).min())


def measure_agreement(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two screeners' decisions on the same records; None where it is not defined."""
    from sklearn.metrics import cohen_kappa_score

    if len({word for pair in pairs for word in pair}) < 2:
        return None
    return float(cohen_kappa_score(*zip(*pairs, strict=True)))


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

"""Replay a finished review: how soon the ranking finds its included records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.uses.screening.ranking import RecordRanker
from sciprism.uses.screening.stopping import RISK, TARGET, recall_p_value

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

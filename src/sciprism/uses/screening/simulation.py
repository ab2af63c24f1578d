"""Replay a finished review: how soon the ranking finds its included records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.uses.screening.ranking import RecordRanker
from sciprism.uses.screening.stopping import measure_work, recall_p_value

BATCH = 0.05  # records between two trainings, as a share of those screened: one at a time up to 40, then more
CHECKS = 100  # how often the test on recall is made in a replay


@dataclass(frozen=True, slots=True)
class SimulatedReview:
    """One replay. found: of each record in the order of screening, after the priors, whether it is included.

    stop: after how many records the test on recall first advised to stop, None where it never did.
    """

    found: tuple[bool, ...]
    stop: int | None

    def to_json(self) -> dict[str, Any]:
        """Return what finding the included records cost, and the recall where the test advised to stop."""
        recall = None if self.stop is None else sum(self.found[: self.stop]) / sum(self.found)
        work = measure_work(np.flatnonzero(self.found) + 1, len(self.found))
        return work | {"stop": self.stop, "recall at stop": recall}


def simulate(
    texts: Sequence[str], labels: Sequence[bool], *, seeds: int = 10, target: float = 0.95, risk: float = 0.05
) -> list[SimulatedReview]:
    """Replay a labelled review from several starts, each of one random included and one random excluded record.

    target, risk: of the test on recall. Raises InputError unless there are two included records and one excluded.
    """
    truth = np.array(labels, bool)
    if truth.sum() < 2 or truth.all():
        counts = f"{truth.sum():,} of {len(truth):,} labelled records are included"
        raise InputError(f"{counts}; a simulation needs two that are and one that is not")
    ranker, reviews = RecordRanker(texts), list[SimulatedReview]()
    for seed in range(seeds):
        found = truth[replay(ranker.score, truth, seed)[2:]].tolist()
        checks = range(1, len(found), max(1, len(found) // CHECKS))
        advised = (done for done in checks if recall_p_value(found[:done], len(found), target, 1) < risk)
        reviews.append(SimulatedReview(tuple(found), next(advised, None)))
    return reviews


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

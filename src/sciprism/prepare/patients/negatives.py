"""Hard negatives of a patient: documents that look relevant, but are not known to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from sciprism.evaluation.systems import EncodingInput
from sciprism.evaluation.systems.bm25 import BM25System
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import seeded_random
from sciprism.registry import Registry

DEPTH = 100
"""BM25's best ranks that negatives are sampled from; deeper ones share little but common words."""
Negatives = Iterator[tuple[Paper, ...]]


class NegativeSampler:
    """Samples negatives of patients from a pool of papers; each depends on the seed and the patient's id.

    limit: negatives of one patient.
    """

    def __init__(self, pool: Sequence[Paper], *, limit: int, seed: int) -> None:
        self.pool, self.limit, self.seed = pool, limit, seed

    def sample(self, patients: Sequence[Paper], relevant: Sequence[AbstractSet[str]]) -> Negatives:
        """Yield the negatives of each patient in the order sampled, without those known to be relevant."""
        raise NotImplementedError


negative_samplers: Registry[type[NegativeSampler]] = Registry("kind of negatives")


@negative_samplers.register("bm25")
class BM25NegativeSampler(NegativeSampler):
    """Sample from the `DEPTH` best papers of BM25 without the relevant ones; fewer if fewer share a word.

    Relevance was judged from citations alone: some of the negatives are relevant nevertheless.
    """

    def __init__(self, pool: Sequence[Paper], *, limit: int, seed: int) -> None:
        super().__init__(pool, limit=limit, seed=seed)
        self._rows = {paper.id: row for row, paper in enumerate(pool)}
        self._system = BM25System()

    def sample(self, patients: Sequence[Paper], relevant: Sequence[AbstractSet[str]]) -> Negatives:
        """Yield the negatives of each patient."""
        queries, pool = (EncodingInput(items=items, format="proximity") for items in (patients, self.pool))
        rows = [[self._rows[name] for name in ids if name in self._rows] for ids in relevant]
        excluded = [np.array(each, np.int64) for each in rows]
        _, best = self._system.top(queries, pool, min(DEPTH, len(self.pool)), "encoder", excluded)
        for patient, ranked in zip(patients, best, strict=True):
            found = ranked[ranked >= 0].tolist()
            sampled = seeded_random(self.seed, patient.id).sample(found, min(self.limit, len(found)))
            yield tuple(self.pool[row] for row in sampled)


@negative_samplers.register("random")
class RandomNegativeSampler(NegativeSampler):
    """Sample from the whole pool without the relevant papers."""

    def sample(self, patients: Sequence[Paper], relevant: Sequence[AbstractSet[str]]) -> Negatives:
        """Yield the negatives of each patient."""
        for patient, ids in zip(patients, relevant, strict=True):
            count = min(self.limit + len(ids), len(self.pool))
            rows = seeded_random(self.seed, patient.id).sample(range(len(self.pool)), count)
            found = [self.pool[row] for row in rows if self.pool[row].id not in ids]
            yield tuple(found[: self.limit])

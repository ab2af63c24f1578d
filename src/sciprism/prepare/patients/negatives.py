"""Hard negatives of a patient: documents that look relevant and are not known to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import numpy as np

from sciprism.evaluation.systems import Texts
from sciprism.evaluation.systems.bm25 import BM25System
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import chance
from sciprism.registry import Registry

DEPTH = 100
"""BM25's best ranks that negatives are drawn from; deeper ones share little but common words."""


class Negatives(Protocol):
    """Draws negatives of patients from a pool of papers, each decided by the seed and the patient's id."""

    def __init__(self, pool: Sequence[Paper], *, count: int, seed: int) -> None:
        """Take the papers to draw from; count: of one patient, at most."""
        ...

    def draw(
        self, patients: Sequence[Paper], known: Sequence[AbstractSet[str]]
    ) -> Iterator[tuple[Paper, ...]]:
        """Yield the negatives of each patient in the order drawn, without those known to be relevant."""
        ...


negatives: Registry[type[Negatives]] = Registry("kind of negatives")


@negatives.register("bm25")
class Alike:
    """Papers among the `DEPTH` best of BM25, known ones left out; fewer where fewer share a word.

    Relevance was judged from citations alone: some of these are relevant all the same.
    """

    def __init__(self, pool: Sequence[Paper], *, count: int, seed: int) -> None:
        self._pool = pool
        self._rows = {paper.id: row for row, paper in enumerate(pool)}
        self._count, self._seed = count, seed
        self._system = BM25System()

    def draw(
        self, patients: Sequence[Paper], known: Sequence[AbstractSet[str]]
    ) -> Iterator[tuple[Paper, ...]]:
        """Yield the negatives of each patient."""
        asked, searched = (Texts(items=papers, format="proximity") for papers in (patients, self._pool))
        out = [np.array([self._rows[name] for name in ids if name in self._rows], np.int64) for ids in known]
        _, best = self._system.top(asked, searched, min(DEPTH, len(self._pool)), "encoder", out)
        for patient, rows in zip(patients, best, strict=True):
            found = rows[rows >= 0].tolist()
            drawn = chance(self._seed, patient.id).sample(found, min(self._count, len(found)))
            yield tuple(self._pool[row] for row in drawn)


@negatives.register("random")
class AnyOther:
    """Any papers of the pool that are not known."""

    def __init__(self, pool: Sequence[Paper], *, count: int, seed: int) -> None:
        self._pool, self._count, self._seed = pool, count, seed

    def draw(
        self, patients: Sequence[Paper], known: Sequence[AbstractSet[str]]
    ) -> Iterator[tuple[Paper, ...]]:
        """Yield the negatives of each patient."""
        for patient, ids in zip(patients, known, strict=True):
            most = min(self._count + len(ids), len(self._pool))
            rows = chance(self._seed, patient.id).sample(range(len(self._pool)), most)
            fresh = [self._pool[row] for row in rows if self._pool[row].id not in ids]
            yield tuple(fresh[: self._count])

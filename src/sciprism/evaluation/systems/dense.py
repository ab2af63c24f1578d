"""An encoder as a system: each distinct text is encoded once, and vectors are compared by a distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.encoders.cached import CachedEncoder
from sciprism.encoders.face import Encodes
from sciprism.errors import InputError
from sciprism.evaluation.systems import Distance, Taken, Texts
from sciprism.index import exact
from sciprism.store.matrix import Matrix

MOST = 1 << 14
"""Rows returned per query at most: more would not fit in memory for large query sets."""


class DenseSystem:
    """Score by the vectors of an encoder, kept in a cache folder across tasks and runs.

    Its name is the model's, or its folder's, with what was asked for at loading (pooling, length, precision).
    taken: the times of the last `top`; encoding counts where no text's vector was in the cache.
    """

    taken: Taken

    def __init__(self, encoder: Encodes, cache: Path) -> None:
        self.encoder = encoder
        self.name = shown(encoder)
        self._cached = CachedEncoder(encoder, cache)

    @property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in."""
        return self._cached.fingerprint

    def describe(self) -> dict[str, Any]:
        """Return what the encoder says of itself."""
        return self.encoder.describe()

    def vectors(self, texts: Texts) -> Floats:
        """Return one row per item; texts seen before come from the cache."""
        return self._timed(texts)[0]

    def _timed(self, texts: Texts) -> tuple[Floats, float | None]:
        """Return the vectors, and the seconds that encoding took if all of them were encoded now."""
        return self._cached.timed(texts.items, format=texts.format, role=texts.role, fields=texts.fields)

    def pool_scores(
        self, queries: Texts, candidates: Texts, pools: Sequence[Rows], distance: Distance
    ) -> list[NDArray[np.float64]]:
        """Return the score of each candidate in each query's pool, computed in double precision."""
        (left, _), (right, _) = self._compared(queries, candidates)
        measure = self._distance(distance)
        return [
            exact.similarity(query, right[pool], measure) for query, pool in zip(left, pools, strict=True)
        ]

    def top(
        self, queries: Texts, documents: Texts, k: int, distance: Distance, excluded: Sequence[Rows] | None
    ) -> tuple[Floats, Rows]:
        """Search all documents exactly; excluded rows are left out of a query's ranking."""
        if k > MOST:
            raise InputError(f"{k} documents of each query are asked for; at most {MOST:,} are ranked")
        (left, asked), (right, told) = self._compared(queries, documents)
        began = perf_counter()
        found = self._best(left, right, k, distance, excluded)
        self.taken = Taken(documents=told, queries=asked, search=perf_counter() - began)
        return found

    def _best(
        self, left: Floats, right: Floats, k: int, distance: Distance, excluded: Sequence[Rows] | None
    ) -> tuple[Floats, Rows]:
        mask, spare = _shared(excluded, len(right))
        deep = min(k + spare, len(right))
        if not deep or not len(left):
            return np.full((len(left), k), -np.inf, np.float32), np.full((len(left), k), -1, np.int64)
        scores, rows = exact.topk(left, [Matrix(right)], deep, mask=mask, distance=self._distance(distance))
        if spare:
            for i, banned in enumerate(excluded or ()):
                out = np.isin(rows[i], banned)
                order = np.argsort(out, kind="stable")
                scores[i] = np.where(out, -np.inf, scores[i])[order]
                rows[i] = np.where(out, -1, rows[i])[order]
        return scores[:, :k], rows[:, :k]

    def _compared(self, queries: Texts, documents: Texts) -> tuple[tuple[Floats, float | None], ...]:
        spaces = [self.encoder.space(texts.format, texts.role) for texts in (queries, documents)]
        if len(set(spaces)) > 1:
            raise InputError(
                f"{self.name}: vectors of {queries.format} {queries.role} and {documents.format} "
                f"{documents.role} lie in different spaces ({', '.join(spaces)}) and cannot be compared"
            )
        return self._timed(queries), self._timed(documents)

    def _distance(self, wanted: Distance) -> exact.Distance:
        return cast(exact.Distance, self.encoder.distance if wanted == "encoder" else wanted)


def _shared(excluded: Sequence[Rows] | None, count: int) -> tuple[NDArray[np.bool_] | None, int]:
    """Return a mask without the rows that no query may have, and how many more one query excludes at most."""
    if not excluded:
        return None, 0
    common = reduce(np.intersect1d, excluded)
    mask = np.ones(count, bool)
    mask[common] = False
    return mask, max(len(np.setdiff1d(rows, common)) for rows in excluded)


def shown(encoder: Encodes) -> str:
    """Return a model's name for tables: without its folder's path, with what was asked for at loading."""
    name = Path(encoder.name).name if Path(encoder.name).is_dir() else encoder.name
    asked = ", ".join(
        f"{key.replace('_', ' ')} {value}" for key, value in getattr(encoder, "options", {}).items()
    )
    return f"{name} ({asked})" if asked else name

"""What is scored: encoders, and what stands beside them in the same tables (BM25, random, others' models).

A system gives vectors, or scores without vectors. A protocol that needs vectors calls `vectors`; a system
that has none raises `NotServedError`, and the table shows no number there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item

Distance = Literal["encoder", "cosine", "dot", "euclidean"]


class NotServedError(Exception):
    """Say that a system cannot take part in a protocol, such as BM25 where vectors are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Items to encode and the way to do it; what a layout read and a task declares, together."""

    items: Sequence[Item]
    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS

    def take(self, rows: Rows) -> Texts:
        """Return these rows of the texts."""
        return replace(self, items=[self.items[row] for row in rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The seconds of one search: making documents and queries comparable (vectors, an index), and searching.

    None: some of it was there already, so that a time would say nothing.
    """

    documents: float | None
    queries: float | None
    search: float

    def per_query(self, count: int) -> float | None:
        """Return all of it divided by the queries, as INDUS's Table 8 has it; None where one is missing."""
        if self.documents is None or self.queries is None or not count:
            return None
        return (self.documents + self.queries + self.search) / count

    def told(self, count: int) -> dict[str, float | str]:
        """Return the times as JSON values, "cached" for those that are not known."""
        times = {
            "documents": self.documents,
            "queries": self.queries,
            "search": self.search,
            "per query": self.per_query(count),
        }
        return {name: "cached" if time is None else round(time, 6) for name, time in times.items()}


@runtime_checkable
class Timed(Protocol):
    """A system that says how long its last `top` took."""

    taken: Taken


class System(Protocol):
    """One row of a result table."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of all that decides its scores."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what a result must say of it, as JSON values."""
        ...

    def vectors(self, texts: Texts) -> Floats:
        """Return one row per item, (n, dim), perhaps memory-mapped. Raises NotServedError."""
        ...

    def pool_scores(
        self, queries: Texts, candidates: Texts, pools: Sequence[Rows], distance: Distance
    ) -> Sequence[NDArray[np.floating]]:
        """Return the score of each candidate row in each query's pool; higher is better."""
        ...

    def top(
        self, queries: Texts, documents: Texts, k: int, distance: Distance, excluded: Sequence[Rows] | None
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the k best documents per query, -inf and -1 where there are fewer.

        excluded[i]: document rows never to be returned for query i.
        """
        ...

"""The systems of result tables: encoders, other libraries' models, BM25 and the random baseline.

A system encodes texts as vectors, or ranks documents without vectors. A protocol that needs vectors calls
`encode`; a system without vectors raises `NotServedError`, and the table shows no number there. A system of
your own is a subclass of `VectorSystem` (dense.py) with `encode`, or of `RankingSystem` with `rank`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item, Template

_TEMPLATE = Template(separator=" ")
Distance = Literal["encoder", "cosine", "dot", "euclidean", "cosine or dot"]
"""How vectors are compared. "encoder": as the encoder states; "cosine or dot": by dot products where it states them."""


class NotServedError(Exception):
    """Report that a system cannot take part in a protocol, such as BM25 where vectors are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingInput:
    """Items to encode, with the format, role and fields to encode them by."""

    items: Sequence[Item]
    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS

    def take(self, rows: Rows) -> EncodingInput:
        """Return these rows of the items."""
        return replace(self, items=[self.items[row] for row in rows])

    def texts(self) -> list[str]:
        """Return the text of each item: a paper's fields (title, abstract), joined by a space."""
        return [_TEMPLATE.text(item, self.role, self.fields) for item in self.items]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTimes:
    """The seconds of one search: encoding or indexing documents and queries, and searching.

    None: some of it was cached, so a time would mean nothing.
    """

    documents: float | None
    queries: float | None
    search: float

    def per_query(self, count: int) -> float | None:
        """Return the sum divided by the number of queries (INDUS, Table 8); None where a time is missing."""
        if self.documents is None or self.queries is None or not count:
            return None
        return (self.documents + self.queries + self.search) / count

    def to_json(self, count: int) -> dict[str, float | str]:
        """Return the times of `count` queries as JSON values, "cached" for those that are not known."""
        times = {
            "documents": self.documents,
            "queries": self.queries,
            "search": self.search,
            "per query": self.per_query(count),
        }
        return {name: "cached" if time is None else round(time, 6) for name, time in times.items()}


@runtime_checkable
class TimedSystem(Protocol):
    """A system that measures how long its last `top` took."""

    search_times: SearchTimes


@runtime_checkable
class System(Protocol):
    """One row of a result table."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of all that decides its scores."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what results record of it, as JSON values."""
        ...

    def encode(self, texts: EncodingInput) -> Floats:
        """Return one row per item, (n, dim), perhaps memory-mapped. Raises NotServedError."""
        ...

    def pool_scores(
        self, queries: EncodingInput, candidates: EncodingInput, pools: Sequence[Rows], distance: Distance
    ) -> Sequence[NDArray[np.floating]]:
        """Return the score of each candidate row in each query's pool; higher is better."""
        ...

    def top(
        self,
        queries: EncodingInput,
        documents: EncodingInput,
        k: int,
        distance: Distance,
        excluded: Sequence[Rows] | None,
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the k best documents per query, -inf and -1 where there are fewer.

        excluded[i]: document rows that are not returned for query i.
        """
        ...


class RankingSystem:
    """A system without vectors: a subclass has a `name`, a `fingerprint` and the method `rank`."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of all that decides its scores."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Return its name and fingerprint."""
        return {"name": self.name, "fingerprint": self.fingerprint}

    def encode(self, texts: EncodingInput) -> Floats:  # noqa: ARG002
        """Raise NotServedError."""
        raise NotServedError(f"{self.name} has no vectors")

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterable[Floats]:
        """Yield the scores of all documents for each query, (n,); higher is better."""
        raise NotImplementedError

    def pool_scores(
        self,
        queries: EncodingInput,
        candidates: EncodingInput,
        pools: Sequence[Rows],
        distance: Distance,  # noqa: ARG002
    ) -> list[Floats]:
        """Return the score of each candidate in each query's pool."""
        return [scores[pool] for scores, pool in zip(self.rank(queries, candidates), pools, strict=True)]

    def top(
        self,
        queries: EncodingInput,
        documents: EncodingInput,
        k: int,
        distance: Distance,  # noqa: ARG002
        excluded: Sequence[Rows] | None,
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the documents with the k highest scores; ties go to the lower row."""
        best = np.full((len(queries.items), k), -np.inf, np.float32)
        rows = np.full((len(queries.items), k), -1, np.int64)
        for i, scores in enumerate(self.rank(queries, documents)):
            dropped = np.zeros(0, np.int64) if excluded is None else excluded[i]
            left = np.setdiff1d(np.arange(len(scores)), dropped)
            best_rows = left[np.argsort(-scores[left], kind="stable")][:k]
            best[i, : len(best_rows)], rows[i, : len(best_rows)] = scores[best_rows], best_rows
        return best, rows


def resolve_distance(stated: str, encoder_distance: str) -> str:
    """Return the distance that vectors are compared by, given what a task states and the encoder's own."""
    if stated == "encoder":
        return encoder_distance
    if stated == "cosine or dot":
        return "dot" if encoder_distance == "dot" else "cosine"
    return stated


def encode_rows(system: System, texts: EncodingInput, rows: Rows) -> Floats:
    """Return the vectors of some rows of the texts; other rows are zero. (n, dim)."""
    encoded = system.encode(texts.take(rows))
    vectors = np.zeros((len(texts.items), encoded.shape[1]), np.float32)
    vectors[rows] = encoded
    return vectors

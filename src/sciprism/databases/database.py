"""What sciprism needs of a vector database: tables of papers with vectors, and small texts next to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.databases.term_weights import SparseVector
from sciprism.errors import InputError, RunFailedError
from sciprism.index.exact import Distance

P = ParamSpec("P")
R = TypeVar("R")
Hashes = NDArray[np.int64]

COLUMNS = ("id", "title", "venue", "year", "fields", "authors", "text_hash", "fingerprint", "paper", "version")
"""What a row holds next to its vectors; `paper` is the whole record as JSON."""
VECTOR, WORDS = "vector", "words"  # names of a row's vector and of its lexical weights
PAGE = 1 << 14
"""Rows whose versions are read at once: the most that Milvus gives. Embedded databases read all rows for each page."""
HNSW_LINKS = 32  # of approximate search, as those of the local graph
HNSW_CONSTRUCTION = 200
HNSW_SEARCH = 128
MAX_FIELDS = 4096  # values of a list that Milvus stores
CONTINUES = "nothing is lost: when that is mended, run the same command again"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The schema of a table: numbers of a vector, how vectors compare, whether an approximate index is built."""

    dim: int
    distance: Distance
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class TableRows:
    """Papers to store: keys (n,), vectors (n, d), lexical weights, and one value per column and paper."""

    keys: Hashes
    vectors: Floats
    words: Sequence[SparseVector]
    columns: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows a search may return: years inclusive; venues, fields, authors by exact name, None for any."""

    year_from: int | None = None
    year_to: int | None = None
    venues: tuple[str, ...] | None = None
    fields: tuple[str, ...] | None = None
    authors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that a search returned, with its score (more is better) and the JSON of its paper."""

    key: int
    score: float
    paper: str


C = TypeVar("C", bound="VectorDatabase")


def explained(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Return a method whose client's errors are explained in one line."""

    @wraps(method)
    def run(self: C, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except (InputError, RunFailedError):
            raise
        except self.failures as error:
            raise self.explain(error) from error

    return run  # type: ignore[return-value]  # a method's own parameter has a name


class VectorDatabase(ABC):
    """A connection to one database. Every failure is an InputError or RunFailedError of one line.

    Tables are named by the caller. Keys are signed 64-bit numbers; storing a key again replaces its row. failures: the
    errors that its client raises. max_rows: the most that a search returns.
    """

    max_rows: int | None = None
    failures: tuple[type[Exception], ...]

    @abstractmethod
    def explain(self, error: Exception) -> InputError | RunFailedError:
        """Return the message of an error of the client."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def read_texts(self, table: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the texts of some keys; a missing key, or a missing table, is left out."""

    @abstractmethod
    def write_texts(self, table: str, texts: Mapping[str, str]) -> None:
        """Store texts (up to 64 KB each) by key, in a table that is created where it is missing."""

    @abstractmethod
    def delete_texts(self, table: str, keys: Sequence[str]) -> None:
        """Delete texts."""

    @abstractmethod
    def describe(self, table: str) -> TableSchema | None:
        """Return the layout of a table of papers, None where it is missing. InputError where it is not ours."""

    @abstractmethod
    def create(self, table: str, layout: TableSchema) -> None:
        """Create a table of papers."""

    @abstractmethod
    def set_approximate(self, table: str, layout: TableSchema) -> None:
        """Build or drop the approximate index, as `layout` says."""

    @abstractmethod
    def upsert(self, table: str, rows: TableRows) -> None:
        """Store rows, all before it returns."""

    @abstractmethod
    def delete(self, table: str, keys: Hashes) -> None:
        """Delete rows."""

    @abstractmethod
    def count(self, table: str) -> int:
        """Count the rows exactly."""

    @abstractmethod
    def iterate_versions(self, table: str) -> Iterator[tuple[Hashes, Hashes]]:
        """Yield keys and versions of all rows in parts."""

    @abstractmethod
    def search_vectors(
        self, table: str, layout: TableSchema, queries: Floats, k: int, filter: RowFilter, *, exact: bool
    ) -> list[list[FoundRow]]:
        """Return the k best rows of each query (m, d)."""

    @explained
    def search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> list[list[FoundRow]]:
        """Return the k rows of the highest inner product with each query; rows without a common term are left out."""
        numbers = [number for number, query in enumerate(queries) if len(query.terms)]
        best = self._search_words(table, [queries[number] for number in numbers], k, filter)
        rankings = dict(zip(numbers, best, strict=True))
        return [rankings.get(number, []) for number in range(len(queries))]

    @abstractmethod
    def _search_words(
        self, table: str, queries: Sequence[SparseVector], k: int, filter: RowFilter
    ) -> Iterable[list[FoundRow]]:
        """Return the rows for queries that have terms."""


def shorten_error(error: object, limit: int = 200) -> str:
    """Return the words of an error as one line."""
    words = " ".join(str(error).split())
    return words if len(words) <= limit else f"{words[:limit]} ..."


def foreign_table(address: object, table: str, what: str) -> InputError:
    """Return the error for a table whose schema is not that of `sciprism push`."""
    return InputError(
        f"{address}: the collection {table} {what}; it was changed, or other software made it; push to "
        "another name, or drop it there and push again"
    )

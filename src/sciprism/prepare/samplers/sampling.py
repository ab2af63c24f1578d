"""What samplers share: seeded random numbers, several processes, the sample of a query, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import islice
from random import Random
from typing import Any, NamedTuple, TypeVar

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.parallel import map_processes
from sciprism.seeding import random_bits, random_fraction
from sciprism.text.template import Item
from sciprism.training.examples import Example

K = TypeVar("K")
R = TypeVar("R")

NONE = "none"  # the kind of a missing negative
RANDOM = "random"  # the kind of an easy negative: a random candidate
CHUNK_SIZE = 256  # queries that a process receives at a time
BEYOND_LIMIT = "beyond the maximum number"


class QuerySample(NamedTuple):
    """The sampled positives and negatives of one query, as rows of candidates.

    kinds: of the negative of each positive; `NONE` if it has none. dropped: (reason, id).
    """

    positives: tuple[int, ...] = ()
    negatives: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()

    def to_example(self, query: Item, candidates: Sequence[Item]) -> Example:
        """Return the training example: the query with its candidates instead of their rows."""
        positives, negatives = (tuple(candidates[row] for row in rows) for rows in (self.positives, self.negatives))
        return Example(query, positives, negatives)


@dataclass(slots=True)
class SampleReport:
    """Counts of what a sampler yielded and dropped so far; they grow while the examples are consumed.

    queries: examples. pairs: (query, positive). negatives: kind of the pair's negative -> number of pairs. records:
    number of published records or lists that were sampled from.
    """

    queries: int = 0
    pairs: int = 0
    negatives: Counter[str] = field(default_factory=Counter)
    dropped: DropReport = field(default_factory=DropReport)
    records: int = 0

    def add(self, sample: QuerySample) -> bool:
        """Count one sample; return whether it is an example."""
        for reason, name in sample.dropped:
            self.dropped.add(reason, name)
        self.queries += bool(sample.positives)
        self.pairs += len(sample.positives)
        self.negatives.update(sample.kinds)
        return bool(sample.positives)

    @property
    def hard(self) -> int:
        """Return the number of pairs with a hard negative."""
        return self.negatives.total() - self.negatives[NONE] - self.negatives[RANDOM]

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return {
            "queries": self.queries,
            "pairs": self.pairs,
            "negatives": dict(sorted(self.negatives.items())),
            "dropped": self.dropped.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the examples of one file are sampled, and the counts of what was.

    limit: queries at most, selected by hash of their ids; 0 for all.
    """

    limit: int = 0
    seed: int = 0
    report: SampleReport = field(default_factory=SampleReport)

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InputError(f"limit {self.limit}: give 0 or more")

    def drop(self, reason: str, name: str) -> None:
        """Count something that is dropped."""
        self.report.dropped.add(reason, name)

    def select(self, names: Sequence[str], rows: Iterable[int] | None = None) -> list[int]:
        """Return the rows of the names with the lowest hashes, as many as the limit, ascending; count the others.

        rows: those to select from, ascending, None for all.
        """
        rows = list(range(len(names)) if rows is None else rows)
        if not self.limit or len(rows) <= self.limit:
            return rows
        selected = sorted(nsmallest(self.limit, rows, key=lambda row: random_fraction(self.seed, names[row])))
        for row in sorted({*rows}.difference(selected)):
            self.drop(BEYOND_LIMIT, names[row])
        return selected

    def examples(
        self,
        sample: Callable[[int], QuerySample],
        rows: Sequence[int],
        queries: Sequence[Item],
        candidates: Sequence[Item],
    ) -> Iterator[Example]:
        """Yield the example of each of these rows of queries, in order, and count it. sample: of a row."""
        for row, chosen in zip(rows, sample_in_parallel(sample, rows), strict=True):
            self.report.add(chosen)
            yield chosen.to_example(queries[row], candidates)

    def has_text(self, paper: Paper) -> bool:
        """Return whether a paper has a title or an abstract; count it if it has none."""
        if not (paper.title or paper.abstract):
            self.drop("no text", paper.id)
        return bool(paper.title or paper.abstract)


def seeded_random(seed: int, *names: object) -> Random:
    """Return a random generator that depends on the seed and the names alone."""
    return Random(random_bits(seed, *names))


def sample_in_parallel(sample: Callable[[K], R], queries: Iterable[K]) -> Iterator[R]:
    """Yield sample(query) of each query, in order; many queries are divided among processes (`map_processes`).

    sample: must survive pickling. Only a few chunks of the queries are held at any time.
    """
    rest = iter(queries)
    chunks = iter(lambda: list(islice(rest, CHUNK_SIZE)), [])
    for samples in map_processes(partial(_sample_each, sample), chunks):
        yield from samples


def _sample_each(sample: Callable[[K], R], chunk: list[K]) -> list[R]:
    return [sample(query) for query in chunk]

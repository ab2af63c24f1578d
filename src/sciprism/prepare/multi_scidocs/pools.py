"""Select the queries, and sample each query's pool of positives and negatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.multi_scidocs.constructions import Relation, constructions
from sciprism.prepare.multi_scidocs.corpus import BenchmarkCorpus
from sciprism.prepare.multi_scidocs.splits import (
    FieldSplits,
    Groups,
    Part,
    group_by_every_field,
    split_by_field,
)
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT, seeded_random

SEED, POSITIVES, NEGATIVES, SHARE = 321, 5, 500, 0.4
"""As published."""

NO_RELATION: Mapping[Relation, str] = {
    "cite": "query that cites no paper",
    "cocite": "query that is co-cited with no paper",
}
NO_NEGATIVE = "query without a negative"
SEVERAL_FIELDS = "paper of several fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSettings:
    """How the benchmark is built. val, test: shares of each field's papers. positives, negatives: of a query,
    at most. within_fields: negatives have a field in common with their query. max_queries: of a field in a
    part and relation, and papers of a class in a part; 0 for all, None for the construction's default.
    """

    construction: str = "corrected"
    seed: int = SEED
    positives: int = POSITIVES
    negatives: int = NEGATIVES
    within_fields: bool = False
    val: float = SHARE
    test: float = SHARE
    max_queries: int | None = None

    def __post_init__(self) -> None:
        constructions[self.construction]  # an unknown name is an error now
        if min(self.positives, self.negatives) < 1:
            raise InputError(f"{self.positives} positives, {self.negatives} negatives; at least 1 is needed")
        if min(self.seed, self.max_queries or 0) < 0:
            raise InputError(f"seed {self.seed}, max_queries {self.max_queries}: none may be negative")
        if min(self.val, self.test) < 0 or not 0 < self.val + self.test <= 1:
            raise InputError(
                f"shares of {self.val} for val and {self.test} for test; they must be 0 or more, and 1 in all"
            )


@dataclass(slots=True)
class QueryCounts:
    """The queries, or papers with a class, of a file.

    fields: a query counts for each of its fields, as in the paper's sizes. short: queries with fewer
    negatives than requested; fewest: negatives of any query.
    """

    rows: list[int] = field(default_factory=list)
    fields: Counter[str] = field(default_factory=Counter)
    positives: int = 0
    negatives: int = 0
    short: int = 0
    fewest: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values, fields in alphabetical order."""
        pairs = {"positives": self.positives, "negatives": self.negatives} if self.negatives else {}
        short = {"short of negatives": self.short, "fewest negatives": self.fewest} if self.short else {}
        by_field = {"sum over fields": self.fields.total(), "fields": dict(sorted(self.fields.items()))}
        return {"unique": len(self.rows), **by_field, **pairs, **short}


class QueryPool(NamedTuple):
    """The rows of a query and of its pool."""

    row: int
    positives: list[int]
    negatives: list[int]


class PoolSampler:
    """Splits a corpus, and samples the queries and the papers with classes of each part.

    dropped: queries and papers, by file and reason.
    """

    def __init__(self, corpus: BenchmarkCorpus, settings: BenchmarkSettings) -> None:
        self.corpus = corpus
        self.settings = settings
        self.dropped = DropReport()
        self._construction = constructions[settings.construction]
        limit = settings.max_queries
        self._limit = (self._construction.max_queries if limit is None else limit) or None
        self._can_query = self._construction.can_query(corpus.graph)
        linked = np.logical_or.reduce([*self._can_query.values()])
        self._linked = self._split([row for row in corpus.query_rows if linked[row]], "linked")
        self._others = self._split([row for row in corpus.query_rows if not linked[row]], "others")

    def linked(self, part: Part) -> list[int]:
        """Return the papers of a part that can be queries because of citations, each once, ascending."""
        return sorted({*chain.from_iterable(self._linked[part].values())})

    def pools(self, relation: Relation, part: Part, counts: QueryCounts) -> Iterator[QueryPool]:
        """Yield the queries of a part, ascending, with their pools, and count them."""
        for row in self._queries(relation, part):
            pool = self._sample_pool(relation, row)
            if not pool.negatives:
                self.dropped.add(f"{relation}/{part}: {NO_NEGATIVE}", self.corpus.names[row])
                continue
            found = len(pool.negatives)
            self._count(row, counts)
            counts.positives += len(pool.positives)
            counts.negatives += found
            counts.short += found < self.settings.negatives
            counts.fewest = found if counts.fewest is None else min(found, counts.fewest)
            yield pool

    def classes(self, part: Part, counts: QueryCounts) -> Iterator[tuple[int, str]]:
        """Yield the papers of a part with a single field, ascending, with that field, and count them."""
        selected: list[int] = []
        several: set[int] = set()
        for name in sorted({*self._linked[part], *self._others[part]}):
            rows = [*self._linked[part].get(name, ()), *self._others[part].get(name, ())]
            single = [row for row in rows if len(self.corpus.fields[row]) == 1]
            selected += self._first(single, f"mag/{part}")
            several.update(row for row in rows if len(self.corpus.fields[row]) > 1)
        for row in sorted(several):
            self.dropped.add(f"mag/{part}: {SEVERAL_FIELDS}", self.corpus.names[row])
        for row in sorted(selected):
            self._count(row, counts)
            yield row, self.corpus.fields[row][0]

    def _split(self, rows: list[int], name: str) -> FieldSplits:
        groups = self._construction.group(rows, self.corpus.fields)
        return split_by_field(groups, self.settings.val, self.settings.test, self.settings.seed, name)

    def _queries(self, relation: Relation, part: Part) -> list[int]:
        can_query, selected = self._can_query[relation], set[int]()
        for rows in self._linked[part].values():
            for row in rows:
                if not can_query[row]:
                    self.dropped.add(f"{relation}/{part}: {NO_RELATION[relation]}", self.corpus.names[row])
            selected.update(self._first([row for row in rows if can_query[row]], f"{relation}/{part}"))
        return sorted(selected)

    def _sample_pool(self, relation: Relation, row: int) -> QueryPool:
        """Sample a pool; sampling as many more rows as cannot be negatives always leaves enough."""
        random = seeded_random(self.settings.seed, relation, self.corpus.names[row])
        choose, limit = self._construction.choose[relation], self.settings.negatives
        choice = choose(self.corpus.graph, row, self.settings.positives, random)
        candidates: Sequence[int] = range(self.corpus.graph.size)
        if self.settings.within_fields:
            groups = [self._rows_of_field[name] for name in self.corpus.fields[row]]
            candidates = groups[0] if len(groups) == 1 else sorted({*chain.from_iterable(groups)})
        sampled = random.sample(candidates, min(len(candidates), limit + len(choice.no_negatives)))
        negatives = [other for other in sampled if other not in choice.no_negatives]
        return QueryPool(row, choice.positives, negatives[:limit])

    @cached_property
    def _rows_of_field(self) -> Groups:
        return group_by_every_field(range(self.corpus.graph.size), self.corpus.fields)

    def _first(self, rows: list[int], where: str) -> list[int]:
        for row in rows[self._limit :] if self._limit else ():
            self.dropped.add(f"{where}: {BEYOND_LIMIT}", self.corpus.names[row])
        return rows[: self._limit]

    def _count(self, row: int, counts: QueryCounts) -> None:
        counts.rows.append(row)
        counts.fields.update(self.corpus.fields[row])

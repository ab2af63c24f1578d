"""Which papers are asked about, and each query's pool of positives and negatives."""

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
from sciprism.prepare.multi_scidocs.corpus import Corpus
from sciprism.prepare.multi_scidocs.divide import Divided, Groups, Part, divided, of_each_field
from sciprism.prepare.samplers.drawing import chance

SEED, POSITIVES, NEGATIVES, SHARE = 321, 5, 500, 0.4
"""As published."""

UNABLE: Mapping[Relation, str] = {
    "cite": "query that cites no paper",
    "cocite": "query that is cited with no other paper",
}
NO_NEGATIVE = "query for which no negative is left"
SEVERAL = "paper of several fields"
BEYOND = "beyond the number asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How the benchmark is made. val, test: shares of each field's papers. positives, negatives: of a query,
    at most. within_fields: negatives have a field in common with their query. most: queries of a field in a
    part and relation, and papers of a class in a part; 0 for all, None for what the construction has.
    """

    construction: str = "corrected"
    seed: int = SEED
    positives: int = POSITIVES
    negatives: int = NEGATIVES
    within_fields: bool = False
    val: float = SHARE
    test: float = SHARE
    most: int | None = None

    def __post_init__(self) -> None:
        constructions[self.construction]  # an unknown name is an error now
        if min(self.positives, self.negatives) < 1:
            raise InputError(f"{self.positives} positives, {self.negatives} negatives; at least 1 is needed")
        if min(self.seed, self.most or 0) < 0:
            raise InputError(f"seed {self.seed}, most {self.most}: none may be negative")
        if min(self.val, self.test) < 0 or not 0 < self.val + self.test <= 1:
            raise InputError(f"shares of {self.val} for val and {self.test} for test; of 1 in all")


@dataclass(slots=True)
class Counted:
    """How many queries, or papers with a class, a file has.

    fields: one counts for each of its fields, as in the paper's sizes. short: queries with fewer negatives
    than asked for; least: the fewest of any.
    """

    rows: list[int] = field(default_factory=list)
    fields: Counter[str] = field(default_factory=Counter)
    positives: int = 0
    negatives: int = 0
    short: int = 0
    least: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values, fields in alphabetical order."""
        pairs = {"positives": self.positives, "negatives": self.negatives} if self.negatives else {}
        short = {"short of negatives": self.short, "fewest negatives": self.least} if self.short else {}
        by_field = {"sum over fields": self.fields.total(), "fields": dict(sorted(self.fields.items()))}
        return {"unique": len(self.rows), **by_field, **pairs, **short}


class Query(NamedTuple):
    """One query's row and those of its pool."""

    row: int
    positives: list[int]
    negatives: list[int]


class Drawing:
    """What is drawn of a corpus: its division, then queries and papers with classes of each part.

    dropped: what was left out of them, and why.
    """

    def __init__(self, corpus: Corpus, choices: Choices) -> None:
        self.corpus = corpus
        self.choices = choices
        self.dropped = DropReport()
        self._how = constructions[choices.construction]
        self._most = (self._how.most if choices.most is None else choices.most) or None
        self._able = self._how.able(corpus.graph)
        linked = np.logical_or.reduce([*self._able.values()])
        self._linked = self._divided([row for row in corpus.asks if linked[row]], "linked")
        self._others = self._divided([row for row in corpus.asks if not linked[row]], "others")

    def linked(self, part: Part) -> list[int]:
        """Return the papers of a part that citations make queries, each once, ascending."""
        return sorted({*chain.from_iterable(self._linked[part].values())})

    def pools(self, relation: Relation, part: Part, counted: Counted) -> Iterator[Query]:
        """Yield the queries of a part, ascending, with their pools, and count them."""
        for row in self._queries(relation, part):
            query = self._query(relation, row)
            if not query.negatives:
                self.dropped.add(f"{relation}/{part}: {NO_NEGATIVE}", self.corpus.names[row])
                continue
            found = len(query.negatives)
            self._count(row, counted)
            counted.positives += len(query.positives)
            counted.negatives += found
            counted.short += found < self.choices.negatives
            counted.least = found if counted.least is None else min(found, counted.least)
            yield query

    def classes(self, part: Part, counted: Counted) -> Iterator[tuple[int, str]]:
        """Yield the papers of a part that have one field alone, ascending, with it, and count them."""
        chosen: list[int] = []
        several: set[int] = set()
        for name in sorted({*self._linked[part], *self._others[part]}):
            mine = [*self._linked[part].get(name, ()), *self._others[part].get(name, ())]
            alone = [row for row in mine if len(self.corpus.fields[row]) == 1]
            chosen += self._first(alone, f"mag/{part}")
            several.update(row for row in mine if len(self.corpus.fields[row]) > 1)
        for row in sorted(several):
            self.dropped.add(f"mag/{part}: {SEVERAL}", self.corpus.names[row])
        for row in sorted(chosen):
            self._count(row, counted)
            yield row, self.corpus.fields[row][0]

    def _divided(self, rows: list[int], name: str) -> Divided:
        groups = self._how.groups(rows, self.corpus.fields)
        return divided(groups, self.choices.val, self.choices.test, self.choices.seed, name)

    def _queries(self, relation: Relation, part: Part) -> list[int]:
        able, chosen = self._able[relation], set[int]()
        for rows in self._linked[part].values():
            for row in rows:
                if not able[row]:
                    self.dropped.add(f"{relation}/{part}: {UNABLE[relation]}", self.corpus.names[row])
            chosen.update(self._first([row for row in rows if able[row]], f"{relation}/{part}"))
        return sorted(chosen)

    def _query(self, relation: Relation, row: int) -> Query:
        """Draw a pool. As many rows more than asked for as may not be negatives always leave enough."""
        random = chance(self.choices.seed, relation, self.corpus.names[row])
        found = self._how.choose[relation](self.corpus.graph, row, self.choices.positives, random)
        candidates = self._candidates(row)
        most = min(len(candidates), self.choices.negatives + len(found.closed))
        drawn = random.sample(candidates, most)
        negatives = [other for other in drawn if other not in found.closed]
        return Query(row, found.positives, negatives[: self.choices.negatives])

    def _candidates(self, row: int) -> Sequence[int]:
        if not self.choices.within_fields:
            return range(self.corpus.graph.size)
        first, *others = self.corpus.fields[row]
        if not others:
            return self._of_field[first]
        return sorted(set(self._of_field[first]).union(*(self._of_field[name] for name in others)))

    @cached_property
    def _of_field(self) -> Groups:
        return of_each_field(range(self.corpus.graph.size), self.corpus.fields)

    def _first(self, rows: list[int], where: str) -> list[int]:
        for row in rows[self._most :] if self._most else ():
            self.dropped.add(f"{where}: {BEYOND}", self.corpus.names[row])
        return rows[: self._most]

    def _count(self, row: int, counted: Counted) -> None:
        counted.rows.append(row)
        counted.fields.update(self.corpus.fields[row])

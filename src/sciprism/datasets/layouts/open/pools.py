"""Papers as queries, each with a pool of papers to rank: linked and unlinked ones, or graded ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import RerankInput
from sciprism.datasets.layouts.open.links import LINKS, Links, check_link, read_grades, sample_queries
from sciprism.datasets.layouts.open.sampling import read_test_entries, to_rows
from sciprism.datasets.split import SplitEntry
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPools:
    """Sample pools of test papers: papers linked to the query as positives, unlinked ones as negatives.

    link: a name of `LINKS`. required_field: papers without it are dropped. min_links: of a query.
    Hard negatives are two links away (cited by a cited paper, a paper of a co-author) where possible, else of
    the query's venue and year. Easy ones are queries or positives of other pools, so that only the link
    separates positives from negatives. No negative is linked to the query in either direction.
    """

    data: str
    link: str
    required_field: str = ""
    queries: int = 300
    positives: int = 5
    negatives: int = 25
    hard: int = 10
    min_links: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_link(self.link)
        if self.min_links < 1 or self.hard > self.negatives:
            raise InputError(f"pools of {self.data}: min_links must be at least 1, hard at most {self.negatives}")

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the pools; queries with too few links are counted."""
        dropped = DropReport()
        found = [
            e
            for e in read_test_entries(data_root, self.data, dropped)
            if not self.required_field or e.row.get(self.required_field)
        ]
        graph = _LinkGraph(found, LINKS[self.link](data_root, found))
        queried = sample_queries(found, graph.links, self.min_links, self.queries, self.seed, dropped)
        positives = {row: self._sample(graph, row, graph.links[row], self.positives) for row in queried}
        pooled = {*queried}.union(*positives.values())
        pools = [to_rows([*positives[row], *self._sample_negatives(graph, row, pooled)]) for row in queried]
        grades = [
            (np.arange(len(pool)) < len(positives[row])).astype(np.int64)
            for row, pool in zip(queried, pools, strict=True)
        ]
        return _build_input(found, [found[row] for row in queried], pools, grades, dropped)

    def _sample_negatives(self, graph: _LinkGraph, row: int, pooled: set[int]) -> list[int]:
        """Return the negatives of a query, the hard ones first."""
        linked = graph.linked_either_way(row)
        chosen = self._sample(graph, row, graph.two_steps(row) - linked, self.hard)
        same_issue = graph.same_venue_and_year(row) - linked - {*chosen}
        chosen += self._sample(graph, row, same_issue, self.hard - len(chosen))
        return chosen + self._sample(graph, row, pooled - linked - {*chosen}, self.negatives - len(chosen))

    def _sample(self, graph: _LinkGraph, row: int, rows: Iterable[int], size: int) -> list[int]:
        """Sample rows by a hash of the query's and the paper's ids."""
        ids = [entry.paper.id for entry in graph.found]
        return sorted(rows, key=lambda other: random_fraction(self.seed, f"{ids[row]}\0{ids[other]}"))[:size]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPools:
    """Read papers with graded pools (CSFCube): a query is one facet of a paper, grades are 0-3.

    An encoder without facets ranks all pools of a paper by the same vector.
    """

    path: str

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the pools of `qrels/test.tsv`; graded papers that are not in the corpus are counted."""
        dropped = DropReport()
        found = read_test_entries(data_root, self.path, dropped)
        rows = {entry.paper.id: row for row, entry in enumerate(found)}
        grades_of = read_grades(data_root, f"{self.path}/qrels/test.tsv", rows, dropped)
        queried = {}
        for row in data_root.records(data_root.local(f"{self.path}/queries.jsonl.gz")):
            if row["metadata"]["paper_id"] in rows and row["_id"] in grades_of:
                queried[row["_id"]] = found[rows[row["metadata"]["paper_id"]]]
            else:
                dropped.add("query without its paper or its pool", row["_id"])
        pools = [to_rows(list(grades_of[query])) for query in queried]
        grades = [to_rows(list(grades_of[query].values())) for query in queried]
        return _build_input(found, list(queried.values()), pools, grades, dropped, query_ids=list(queried))


class _LinkGraph:
    """Papers, their links, and the papers near a paper that are not linked to it."""

    def __init__(self, found: Sequence[SplitEntry], links: Links) -> None:
        self.found = found
        self.links = links
        self._linking: Links = [set() for _ in found]
        for row, others in enumerate(links):
            for other in others:
                self._linking[other].add(row)
        self._issues: dict[tuple[str, int | None], set[int]] = defaultdict(set)
        for row, entry in enumerate(found):
            self._issues[entry.paper.venue, entry.paper.year].add(row)

    def linked_either_way(self, row: int) -> set[int]:
        """Return the paper itself and all that it links to or that link to it."""
        return {row} | self.links[row] | self._linking[row]

    def two_steps(self, row: int) -> set[int]:
        """Return the papers linked to the linked papers."""
        return set().union(*(self.links[other] for other in self.links[row]))

    def same_venue_and_year(self, row: int) -> set[int]:
        """Return the papers of the same venue and year."""
        return self._issues[self.found[row].paper.venue, self.found[row].paper.year]


def _build_input(
    found: Sequence[SplitEntry],
    queries: Sequence[SplitEntry],
    pools: Sequence[Rows],
    grades: Sequence[NDArray[np.int64]],
    dropped: DropReport,
    query_ids: Sequence[str] = (),
) -> RerankInput:
    """Return the input, whose candidates are the papers of the pools only."""
    used = np.unique(np.concatenate(pools)) if pools else to_rows([])
    papers = [found[row].paper for row in used.tolist()]
    return RerankInput(
        query_ids=query_ids or [entry.paper.id for entry in queries],
        queries=[entry.paper for entry in queries],
        candidate_ids=[paper.id for paper in papers],
        candidates=papers,
        pools=[np.searchsorted(used, pool) for pool in pools],
        grades=grades,
        query_role="paper",
        dropped=dropped,
    )

"""Papers as queries, each with a pool of papers to rank: links against strangers, or judged similarity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Pools
from sciprism.datasets.layouts.open.drawn import as_rows, lowest, tested
from sciprism.datasets.layouts.open.links import LINKS, Links, known_link, table
from sciprism.datasets.sources import draw
from sciprism.datasets.split import Entry
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

FEW = "query with too few links"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPools:
    """Draw pools from links: papers linked to the query against papers that are not, all of them test papers.

    link: a name of `LINKS`. needs: a field that a paper must have to take part. least: a query's links.
    The hard negatives lie two steps away (cited by a cited paper, a paper of a co-author) as far as there are
    such, then in the query's venue and year. The easy ones are queries or positives of other pools, so that
    nothing but the link tells positives from negatives. No negative is linked to the query either way.
    """

    data: str
    link: str
    needs: str = ""
    queries: int = 300
    positives: int = 5
    negatives: int = 25
    hard: int = 10
    least: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        known_link(self.link)
        if self.least < 1 or self.hard > self.negatives:
            raise InputError(f"pools of {self.data}: least is at least 1, hard at most {self.negatives}")

    def read(self, home: DataRoot) -> Pools:
        """Return the pools; queries with too few links are counted."""
        tally = DropReport()
        found = [e for e in tested(home, self.data, tally) if not self.needs or e.row.get(self.needs)]
        graph = _Graph(found, LINKS[self.link](home, found))
        able = [entry for row, entry in enumerate(found) if len(graph.links[row]) >= self.least]
        for row, entry in enumerate(found):
            if len(graph.links[row]) < self.least:
                tally.add(FEW, entry.paper.id)
        asked = [graph.rows[entry.paper.id] for entry in lowest(able, self.queries, self.seed)]
        positives = {row: self._some(graph, row, graph.links[row], self.positives) for row in asked}
        crowd = {*asked}.union(*positives.values())
        pools = [as_rows([*positives[row], *self._strangers(graph, row, crowd)]) for row in asked]
        grades = [
            (np.arange(len(pool)) < len(positives[row])).astype(np.int64)
            for row, pool in zip(asked, pools, strict=True)
        ]
        return _only_pooled(found, [found[row] for row in asked], pools, grades, tally)

    def _strangers(self, graph: _Graph, row: int, crowd: set[int]) -> list[int]:
        """Return the negatives of a query, the hard ones first."""
        linked = graph.linked_either_way(row)
        chosen = self._some(graph, row, graph.two_steps(row) - linked, self.hard)
        beside = graph.same_venue_and_year(row) - linked - {*chosen}
        chosen += self._some(graph, row, beside, self.hard - len(chosen))
        return chosen + self._some(graph, row, crowd - linked - {*chosen}, self.negatives - len(chosen))

    def _some(self, graph: _Graph, row: int, rows: Iterable[int], size: int) -> list[int]:
        """Draw rows by a hash of the query's and the paper's ids."""
        ids = [entry.paper.id for entry in graph.found]
        return sorted(rows, key=lambda other: draw(f"{ids[row]}\0{ids[other]}", self.seed))[:size]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPools:
    """Read papers with judged pools (CSFCube): a query is a paper, seen for one of its facets, grades 0-3.

    An encoder that knows no facets ranks a paper's pools by one vector.
    """

    path: str

    def read(self, home: DataRoot) -> Pools:
        """Return the pools of `qrels/test.tsv`; a judged paper that is not in the corpus is counted."""
        tally = DropReport()
        found = tested(home, self.path, tally)
        rows = {entry.paper.id: row for row, entry in enumerate(found)}
        judged: dict[str, dict[int, int]] = defaultdict(dict)
        for query, document, grade in table(home, f"{self.path}/qrels/test.tsv"):
            if document in rows:
                judged[query][rows[document]] = int(grade)
            else:
                tally.add("judged paper that is not there", document)
        asked = {}
        for row in home.records(home.local(f"{self.path}/queries.jsonl.gz")):
            if row["metadata"]["paper_id"] in rows and row["_id"] in judged:
                asked[row["_id"]] = found[rows[row["metadata"]["paper_id"]]]
            else:
                tally.add("query without its paper or its pool", row["_id"])
        pools = [as_rows(list(judged[query])) for query in asked]
        grades = [as_rows(list(judged[query].values())) for query in asked]
        return _only_pooled(found, list(asked.values()), pools, grades, tally, query_ids=list(asked))


class _Graph:
    """Papers, their links, and what lies near a paper without being linked to it."""

    def __init__(self, found: Sequence[Entry], links: Links) -> None:
        self.found = found
        self.links = links
        self.rows = {entry.paper.id: row for row, entry in enumerate(found)}
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
        """Return the papers that appeared beside the paper."""
        return self._issues[self.found[row].paper.venue, self.found[row].paper.year]


def _only_pooled(
    found: Sequence[Entry],
    queries: Sequence[Entry],
    pools: Sequence[Rows],
    grades: Sequence[NDArray[np.int64]],
    tally: DropReport,
    query_ids: Sequence[str] = (),
) -> Pools:
    """Keep the candidates that stand in a pool, and nothing else to encode."""
    used = np.unique(np.concatenate(pools)) if pools else as_rows([])
    kept = [found[row].paper for row in used.tolist()]
    return Pools(
        query_ids=query_ids or [entry.paper.id for entry in queries],
        queries=[entry.paper for entry in queries],
        candidate_ids=[paper.id for paper in kept],
        candidates=kept,
        pools=[np.searchsorted(used, pool) for pool in pools],
        grades=grades,
        query_role="paper",
        tally=tally,
    )

"""Links between papers of the open data, and papers as queries, each with a pool of papers to rank."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import RerankInput
from sciprism.datasets.layouts.open.sampling import read_test_entries, sample_entries, to_rows
from sciprism.datasets.split import SplitEntry
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

Links = list[set[int]]  # for each paper, the rows of the papers that it is linked to

MIN_CO_CITING = 2  # papers that must cite two papers for a co-citation link; one reference list may be random
MIN_IDF_SUM = 5.0
"""Sum of the inverse document frequencies (in nats) of shared keywords for a link: one keyword of 1/150 of
the papers, or two more frequent ones."""
MAX_KEYWORD_PAPERS = 300  # keywords of more papers than this are ignored


def find_citations(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that each paper cites."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    return [
        {rows[name] for name in entry.row["references"] if name in rows} - {row} for row, entry in enumerate(entries)
    ]


def find_citation_links(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:
    """Return the papers linked in CACM's list, in both directions, since theirs is unknown."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    pairs = (
        (rows[one], rows[other])
        for one, other in read_tsv(data_root, "ir_cacm/citation_links.tsv")
        if one in rows and other in rows and one != other
    )
    return _link_both_ways(len(entries), pairs)


def find_co_citations(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:
    """Return the papers that share at least two reference lists with each paper."""
    pairs: Counter[tuple[int, int]] = Counter()
    for cited in find_citations(data_root, entries):
        pairs.update(combinations(sorted(cited), 2))
    return _link_both_ways(len(entries), (pair for pair, count in pairs.items() if count >= MIN_CO_CITING))


def find_same_author(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that share an author's identifier (of IEEE or OpenReview, not a name)."""
    authors = [{name for name in entry.row["author_ids"] if name} for entry in entries]
    rows_of = _index_rows(authors)
    return [{other for name in names for other in rows_of[name]} - {row} for row, names in enumerate(authors)]


def find_shared_keywords(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers whose shared keywords are rare enough (see `MIN_IDF_SUM`)."""
    keywords = [{word.casefold() for word in entry.row["keywords"]} for entry in entries]
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for rows in _index_rows(keywords).values():
        if len(rows) <= MAX_KEYWORD_PAPERS:
            for pair in combinations(rows, 2):
                weights[pair] += math.log(len(entries) / len(rows))
    return _link_both_ways(len(entries), (pair for pair, weight in weights.items() if weight >= MIN_IDF_SUM))


def read_tsv(data_root: DataRoot, name: str) -> list[tuple[str, ...]]:
    """Return the rows of a tab-separated file without its header."""
    lines = [line for _, line in data_root.lines(data_root.local(name))]
    return [tuple(line.split("\t")) for line in lines[1:] if line.strip()]


def read_grades(
    data_root: DataRoot, name: str, rows: Mapping[str, int], dropped: DropReport
) -> dict[str, dict[int, int]]:
    """Return query -> row -> grade of a qrels file; documents without a record are counted."""
    grades: dict[str, dict[int, int]] = defaultdict(dict)
    for query, document, grade in read_tsv(data_root, name):
        if document in rows:
            grades[query][rows[document]] = int(grade)
        else:
            dropped.add("graded document without a record", document)
    return grades


def sample_queries(
    entries: Sequence[SplitEntry], links: Links, min_links: int, size: int, seed: int, dropped: DropReport
) -> list[int]:
    """Return the rows of `size` papers with enough links, 0 for all; papers with fewer are counted."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    candidates = []
    for entry, linked in zip(entries, links, strict=True):
        if len(linked) >= min_links:
            candidates.append(entry)
        else:
            dropped.add("paper with too few links to be a query", entry.paper.id)
    return [rows[entry.paper.id] for entry in sample_entries(candidates, size, seed)]


def _index_rows(values: Sequence[set[str]]) -> dict[str, list[int]]:
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, own_values in enumerate(values):
        for value in sorted(own_values):
            rows_of[value].append(row)
    return rows_of


def _link_both_ways(count: int, pairs: Any) -> Links:
    links: Links = [set() for _ in range(count)]
    for one, other in pairs:
        links[one].add(other)
        links[other].add(one)
    return links


LINKS: Mapping[str, Callable[[DataRoot, Sequence[SplitEntry]], Links]] = {
    "citation": find_citations,
    "citation link": find_citation_links,
    "co-citation": find_co_citations,
    "same author": find_same_author,
    "shared keywords": find_shared_keywords,
}


def check_link(name: str) -> None:
    """Raise InputError, with the known names, for an unknown kind of link."""
    if name not in LINKS:
        raise InputError(f"unknown link {name!r}; known: {', '.join(LINKS)}")


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
        entries = read_test_entries(data_root, self.data, dropped)
        if self.required_field:
            entries = [entry for entry in entries if entry.row.get(self.required_field)]
        graph = _LinkGraph(entries, LINKS[self.link](data_root, entries))
        queried = sample_queries(entries, graph.links, self.min_links, self.queries, self.seed, dropped)
        positives = {row: self._sample(graph, row, graph.links[row], self.positives) for row in queried}
        pooled = {*queried}.union(*positives.values())
        pools = [to_rows([*positives[row], *self._sample_negatives(graph, row, pooled)]) for row in queried]
        grades = [
            (np.arange(len(pool)) < len(positives[row])).astype(np.int64)
            for row, pool in zip(queried, pools, strict=True)
        ]
        return _build_input(entries, [entries[row] for row in queried], pools, grades, dropped)

    def _sample_negatives(self, graph: _LinkGraph, row: int, pooled: set[int]) -> list[int]:
        linked = {row} | graph.links[row] | graph.linking[row]
        two_steps = set().union(*(graph.links[other] for other in graph.links[row]))
        chosen = self._sample(graph, row, two_steps - linked, self.hard)
        paper = graph.entries[row].paper
        same_issue = graph.issues[paper.venue, paper.year] - linked - {*chosen}
        chosen += self._sample(graph, row, same_issue, self.hard - len(chosen))
        return chosen + self._sample(graph, row, pooled - linked - {*chosen}, self.negatives - len(chosen))

    def _sample(self, graph: _LinkGraph, row: int, rows: Iterable[int], size: int) -> list[int]:
        """Sample rows by a hash of the query's and the paper's ids."""
        ids = [entry.paper.id for entry in graph.entries]
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
        entries = read_test_entries(data_root, self.path, dropped)
        rows = {entry.paper.id: row for row, entry in enumerate(entries)}
        grades_of = read_grades(data_root, f"{self.path}/qrels/test.tsv", rows, dropped)
        queried = {}
        for row in data_root.records(data_root.local(f"{self.path}/queries.jsonl.gz")):
            if row["metadata"]["paper_id"] in rows and row["_id"] in grades_of:
                queried[row["_id"]] = entries[rows[row["metadata"]["paper_id"]]]
            else:
                dropped.add("query without its paper or its pool", row["_id"])
        pools = [to_rows(list(grades_of[query])) for query in queried]
        grades = [to_rows(list(grades_of[query].values())) for query in queried]
        return _build_input(entries, list(queried.values()), pools, grades, dropped, query_ids=list(queried))


class _LinkGraph:
    """Papers, their links in both directions, and the papers of each venue and year."""

    def __init__(self, entries: Sequence[SplitEntry], links: Links) -> None:
        self.entries, self.links = entries, links
        self.linking: Links = [set() for _ in entries]
        self.issues: dict[tuple[str, int | None], set[int]] = defaultdict(set)
        for row, (entry, others) in enumerate(zip(entries, links, strict=True)):
            for other in others:
                self.linking[other].add(row)
            self.issues[entry.paper.venue, entry.paper.year].add(row)


def _build_input(
    entries: Sequence[SplitEntry],
    queries: Sequence[SplitEntry],
    pools: Sequence[Rows],
    grades: Sequence[NDArray[np.int64]],
    dropped: DropReport,
    query_ids: Sequence[str] = (),
) -> RerankInput:
    """Return the input, whose candidates are the papers of the pools only."""
    used = np.unique(np.concatenate(pools)) if pools else to_rows([])
    papers = [entries[row].paper for row in used.tolist()]
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

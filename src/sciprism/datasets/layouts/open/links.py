"""Links between papers: citation, co-citation, shared authors or shared rare keywords."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.sampling import sample_entries
from sciprism.datasets.split import SplitEntry
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

Links = list[set[int]]
"""For each paper, the rows of the papers that it is linked to."""

MIN_CO_CITING = 2
"""Papers that must cite two papers for a co-citation link; one reference list may be random."""
MIN_IDF_SUM = 5.0
"""Sum of the inverse document frequencies (in nats) of shared keywords for a link: one keyword of 1/150 of
the papers, or two more frequent ones."""
MAX_KEYWORD_PAPERS = 300
"""Keywords of more papers than this are ignored."""


def find_citations(data_root: DataRoot, found: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that each paper cites."""
    rows = {entry.paper.id: row for row, entry in enumerate(found)}
    return [{rows[name] for name in entry.row["references"] if name in rows} - {row} for row, entry in enumerate(found)]


def find_citation_links(data_root: DataRoot, found: Sequence[SplitEntry]) -> Links:
    """Return the papers linked in CACM's list, in both directions, since theirs is unknown."""
    rows = {entry.paper.id: row for row, entry in enumerate(found)}
    pairs = (
        (rows[one], rows[other])
        for one, other in read_tsv(data_root, "ir_cacm/citation_links.tsv")
        if one in rows and other in rows and one != other
    )
    return _link_both_ways(len(found), pairs)


def find_co_citations(data_root: DataRoot, found: Sequence[SplitEntry]) -> Links:
    """Return the papers that share at least two reference lists with each paper."""
    pairs: Counter[tuple[int, int]] = Counter()
    for cited in find_citations(data_root, found):
        pairs.update(combinations(sorted(cited), 2))
    return _link_both_ways(len(found), (pair for pair, count in pairs.items() if count >= MIN_CO_CITING))


def find_same_author(data_root: DataRoot, found: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that share an author's identifier (of IEEE or OpenReview, not a name)."""
    authors = [{name for name in entry.row["author_ids"] if name} for entry in found]
    rows_of = _index_rows(authors)
    return [{row for name in each for row in rows_of[name]} - {own} for own, each in enumerate(authors)]


def find_shared_keywords(data_root: DataRoot, found: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers whose shared keywords are rare enough (see `MIN_IDF_SUM`)."""
    keywords = [{word.casefold() for word in entry.row["keywords"]} for entry in found]
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for rows in _index_rows(keywords).values():
        if len(rows) <= MAX_KEYWORD_PAPERS:
            for pair in combinations(rows, 2):
                weights[pair] += math.log(len(found) / len(rows))
    return _link_both_ways(len(found), (pair for pair, weight in weights.items() if weight >= MIN_IDF_SUM))


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
    found: Sequence[SplitEntry], links: Links, min_links: int, size: int, seed: int, dropped: DropReport
) -> list[int]:
    """Return the rows of `size` papers with enough links, 0 for all; papers with fewer are counted."""
    rows = {entry.paper.id: row for row, entry in enumerate(found)}
    candidates = []
    for entry, linked in zip(found, links, strict=True):
        if len(linked) >= min_links:
            candidates.append(entry)
        else:
            dropped.add("paper with too few links to be a query", entry.paper.id)
    return [rows[entry.paper.id] for entry in sample_entries(candidates, size, seed)]


def _index_rows(values: Sequence[set[str]]) -> dict[str, list[int]]:
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, each in enumerate(values):
        for value in sorted(each):
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

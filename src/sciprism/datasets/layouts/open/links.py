"""Links between papers: who cites whom, who is cited together, who shares an author or rare keywords."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.split import Entry
from sciprism.errors import InputError

Links = list[set[int]]
"""Of each paper, in the order of the papers, the rows of those it is linked to."""

TOGETHER = 2
"""Papers that must cite two papers before these count as cited together: one list may be chance."""
RARE = 5.0
"""Sum of the inverse document frequencies (in nats) of shared keywords that makes a link: one keyword of a
hundred-and-fiftieth of the papers, or two commoner ones."""
CROWD = 300
"""A keyword of more papers than this says nothing alone or together."""


def citations(home: DataRoot, found: Sequence[Entry]) -> Links:  # noqa: ARG001  (the links' signature)
    """Return the papers that each paper cites."""
    rows = {entry.paper.id: row for row, entry in enumerate(found)}
    return [
        {rows[name] for name in entry.row["references"] if name in rows} - {row}
        for row, entry in enumerate(found)
    ]


def citation_links(home: DataRoot, found: Sequence[Entry]) -> Links:
    """Return the papers linked in CACM's list, whose direction is not known."""
    rows = {entry.paper.id: row for row, entry in enumerate(found)}
    links: Links = [set() for _ in found]
    for one, other in table(home, "ir_cacm/citation_links.tsv"):
        if one in rows and other in rows and one != other:
            links[rows[one]].add(rows[other])
            links[rows[other]].add(rows[one])
    return links


def co_citations(home: DataRoot, found: Sequence[Entry]) -> Links:
    """Return the papers that stand with a paper in at least two reference lists."""
    pairs: Counter[tuple[int, int]] = Counter()
    for cited in citations(home, found):
        pairs.update(combinations(sorted(cited), 2))
    return _symmetric(len(found), (pair for pair, count in pairs.items() if count >= TOGETHER))


def same_author(home: DataRoot, found: Sequence[Entry]) -> Links:  # noqa: ARG001  (the links' signature)
    """Return the papers that share an author's identifier (IEEE or OpenReview, not a name)."""
    return _sharing([{name for name in entry.row["author_ids"] if name} for entry in found])


def shared_keywords(home: DataRoot, found: Sequence[Entry]) -> Links:  # noqa: ARG001  (the links' signature)
    """Return the papers whose shared keywords are rare enough together (see `RARE`)."""
    keywords = [{word.casefold() for word in entry.row["keywords"]} for entry in found]
    holders = _holders(keywords)
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for rows in holders.values():
        if len(rows) <= CROWD:
            for pair in combinations(rows, 2):
                weights[pair] += math.log(len(found) / len(rows))
    return _symmetric(len(found), (pair for pair, weight in weights.items() if weight >= RARE))


def table(home: DataRoot, name: str) -> list[tuple[str, ...]]:
    """Return the rows of a tab-separated file without its header."""
    lines = [line for _, line in home.lines(home.local(name))]
    return [tuple(line.split("\t")) for line in lines[1:] if line.strip()]


def _holders(marks: Sequence[set[str]]) -> dict[str, list[int]]:
    holders: dict[str, list[int]] = defaultdict(list)
    for row, each in enumerate(marks):
        for mark in sorted(each):
            holders[mark].append(row)
    return holders


def _sharing(marks: Sequence[set[str]]) -> Links:
    holders = _holders(marks)
    return [{row for mark in each for row in holders[mark]} - {own} for own, each in enumerate(marks)]


def _symmetric(count: int, pairs: Any) -> Links:
    links: Links = [set() for _ in range(count)]
    for one, other in pairs:
        links[one].add(other)
        links[other].add(one)
    return links


LINKS: Mapping[str, Callable[[DataRoot, Sequence[Entry]], Links]] = {
    "citation": citations,
    "citation link": citation_links,
    "co-citation": co_citations,
    "same author": same_author,
    "shared keywords": shared_keywords,
}


def known_link(name: str) -> None:
    """Raise InputError, with the names that exist, for a link that does not."""
    if name not in LINKS:
        raise InputError(f"unknown link {name!r}; known: {', '.join(LINKS)}")

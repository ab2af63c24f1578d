"""Two ways to build a query's pool from citations: as the authors do, and without the defects of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.multi_scidocs.splits import Groups, group_by_every_field, group_by_rarest_field
from sciprism.registry import Registry

Relation = Literal["cite", "cocite"]
RELATIONS: tuple[Relation, ...] = ("cite", "cocite")
"""Named like their folders."""

Mask = NDArray[np.bool_]


class PositiveChoice(NamedTuple):
    """The positives of a query, in the order sampled, and all rows that may not be its negatives."""

    positives: list[int]
    no_negatives: set[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """How queries are split and pools are built.

    group: rows -> field -> rows, to split each field. max_queries: of a field, a part and a relation, by
    default, 0 for all. can_query: relation -> which papers can be queries. choose: relation -> function of
    the graph, the query's row, the maximum of positives and a random generator.
    """

    group: Callable[[Sequence[int], Sequence[tuple[str, ...]]], Groups]
    max_queries: int
    can_query: Callable[[CitationGraph], Mapping[Relation, Mask]]
    choose: Mapping[Relation, Callable[[CitationGraph, int, int, Random], PositiveChoice]]


constructions: Registry[Construction] = Registry("construction")


def count_co_citations(graph: CitationGraph, row: int) -> Counter[int]:
    """Count how many papers cite each other paper together with this one."""
    counts = Counter(chain.from_iterable(graph.cited[citing].tolist() for citing in graph.citing[row]))
    counts.pop(row, None)
    return counts


def co_cited_mask(graph: CitationGraph) -> Mask:
    """Return which papers are cited together with another one by any paper."""
    citing, cited = graph.edges
    found = np.zeros(graph.size, bool)
    found[cited[graph.cited.counts[citing] > 1]] = True
    return found


def _published_cite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    cited = graph.targets(row)
    return PositiveChoice(random.sample(cited, min(limit, len(cited))), {row, *cited})


def _published_cocite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    """Sample from the `c` most often co-cited papers, c being the highest count.

    The authors add `most_common(f)` for f = c, c - 1, ... until they have enough entries; they mean papers
    with count f, but get the f first ones, so nothing after the first addition is new. Equal counts are in
    the order of the citing papers, then of the cited ones. Co-cited papers beyond these c may be negatives.
    """
    counts = count_co_citations(graph, row)
    pool = [other for other, _ in counts.most_common(max(counts.values()))]
    return PositiveChoice(random.sample(pool, min(limit, len(pool))), {row, *pool})


def _published_can_query(graph: CitationGraph) -> Mapping[Relation, Mask]:
    cites = graph.cited.counts > 0
    return {"cite": cites, "cocite": cites & co_cited_mask(graph)}


def _cite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    cited = graph.targets(row)
    return PositiveChoice(
        random.sample(cited, min(limit, len(cited))), graph.linked(row) | {*count_co_citations(graph, row)}
    )


def _cocite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    """Take the papers most often co-cited; ties are broken at random."""
    counts = count_co_citations(graph, row)
    order = sorted(counts)
    random.shuffle(order)
    order.sort(key=lambda other: -counts[other])
    return PositiveChoice(order[:limit], graph.linked(row) | {*counts})


def _can_query(graph: CitationGraph) -> Mapping[Relation, Mask]:
    return {"cite": graph.cited.counts > 0, "cocite": co_cited_mask(graph)}


constructions.register("published")(
    Construction(
        group=group_by_every_field,
        max_queries=0,
        can_query=_published_can_query,
        choose={"cite": _published_cite, "cocite": _published_cocite},
    )
)
constructions.register("corrected")(
    Construction(
        group=group_by_rarest_field,
        max_queries=500,
        can_query=_can_query,
        choose={"cite": _cite, "cocite": _cocite},
    )
)

"""Two ways to make a query's pool out of citations: the authors' own, and one without its defects."""

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
from sciprism.prepare.multi_scidocs.divide import Groups, of_each_field, of_rarest_field
from sciprism.registry import Registry

Relation = Literal["cite", "cocite"]
RELATIONS: tuple[Relation, ...] = ("cite", "cocite")
"""They are called like their folders."""

Mask = NDArray[np.bool_]


class Choice(NamedTuple):
    """The positives of a query, in the order drawn, and all rows that may not be its negatives."""

    positives: list[int]
    closed: set[int]


Choose = Callable[[CitationGraph, int, int, Random], Choice]
"""(graph, query's row, positives at most, chance) -> choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """How queries are divided and pools are made.

    groups: puts the rows under the fields that divide them. most: queries of a field, a part and a relation
    unless told otherwise, 0 for all. able: relation -> which papers can be queries.
    """

    groups: Callable[[Sequence[int], Sequence[tuple[str, ...]]], Groups]
    most: int
    able: Callable[[CitationGraph], Mapping[Relation, Mask]]
    choose: Mapping[Relation, Choose]


constructions: Registry[Construction] = Registry("construction")


def cited_together(graph: CitationGraph, row: int) -> Counter[int]:
    """Count how many papers cite each other paper together with this one."""
    counts = Counter(chain.from_iterable(graph.cited[citing].tolist() for citing in graph.citing[row]))
    counts.pop(row, None)
    return counts


def in_lists_of_several(graph: CitationGraph) -> Mask:
    """Tell of each paper whether any paper cites it together with another one."""
    citing, cited = graph.edges
    found = np.zeros(graph.size, bool)
    found[cited[graph.cited.counts[citing] > 1]] = True
    return found


def _published_cite(graph: CitationGraph, row: int, most: int, random: Random) -> Choice:
    cited = graph.answers(row)
    return Choice(random.sample(cited, min(most, len(cited))), {row, *cited})


def _published_cocite(graph: CitationGraph, row: int, most: int, random: Random) -> Choice:
    """Draw from the `c` most often co-cited papers, c being the highest count.

    The authors add `most_common(f)` for f = c, c - 1, ... until they have enough entries; meant were papers
    with count f, but these are the f first ones, so nothing after the first addition is new. Equal counts
    stand in the order of the citing papers, then of the cited ones. Co-cited papers beyond these c may be
    negatives.
    """
    counts = cited_together(graph, row)
    pool = [other for other, _ in counts.most_common(max(counts.values()))]
    return Choice(random.sample(pool, min(most, len(pool))), {row, *pool})


def _published_able(graph: CitationGraph) -> Mapping[Relation, Mask]:
    cites = graph.cited.counts > 0
    return {"cite": cites, "cocite": cites & in_lists_of_several(graph)}


def _cite(graph: CitationGraph, row: int, most: int, random: Random) -> Choice:
    cited = graph.answers(row)
    return Choice(
        random.sample(cited, min(most, len(cited))), graph.linked(row) | {*cited_together(graph, row)}
    )


def _cocite(graph: CitationGraph, row: int, most: int, random: Random) -> Choice:
    """Take the papers most often co-cited; among equal counts chance decides."""
    counts = cited_together(graph, row)
    order = sorted(counts)
    random.shuffle(order)
    order.sort(key=lambda other: -counts[other])
    return Choice(order[:most], graph.linked(row) | {*counts})


def _able(graph: CitationGraph) -> Mapping[Relation, Mask]:
    return {"cite": graph.cited.counts > 0, "cocite": in_lists_of_several(graph)}


constructions.register("published")(
    Construction(
        groups=of_each_field,
        most=0,
        able=_published_able,
        choose={"cite": _published_cite, "cocite": _published_cocite},
    )
)
constructions.register("corrected")(
    Construction(groups=of_rarest_field, most=500, able=_able, choose={"cite": _cite, "cocite": _cocite})
)

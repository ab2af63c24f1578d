"""Topics of a map: groups of papers that lie densely, on several levels, and the names that their titles give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, count

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.papers.records import Paper
from sciprism.uses.recommending.interests import find_typical_terms

Codes = NDArray[np.int32]
"""Of each paper the number of its topic, -1 for none."""
MIN_PAPERS = 8  # of the smallest topic
FINEST = 1600  # a topic of the finest level has at least this part of the papers
FEWEST = 8  # topics of the coarsest level, where there are levels with so many
GROWTH = 1.5  # times the topics of a level are on the next
MAX_LEVELS = 4
SHOWN_TERMS = 2  # terms in a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of one level: its name, its middle, how far half of its papers lie from it, and their number."""

    name: str
    x: float
    y: float
    radius: float
    papers: int


def find_topics(positions: Floats) -> list[Codes]:
    """Find groups of dense positions (n, 2) by PLSCAN (Bot et al. 2025), the coarsest level first.

    The largest group of a level is number 0; papers between groups are in none.
    """
    from fast_hdbscan import PLSCAN

    if len(positions) < 2 * MIN_PAPERS:
        return []
    smallest = max(MIN_PAPERS, len(positions) // FINEST)
    found = PLSCAN(base_min_cluster_size=smallest, reproducible=True).fit(positions.astype(np.float64))
    ordered = [_order(labels) for labels in reversed(found.cluster_layers_)]  # the coarsest is last
    sizes = [int(codes.max()) + 1 for codes in ordered]
    least = min(FEWEST, max(sizes, default=0))
    levels: list[Codes] = []
    for codes, size in zip(ordered, sizes, strict=True):
        if size > 1 and size >= least:
            levels.append(codes)
            least = int(GROWTH * size) + 1
    return levels if len(levels) <= MAX_LEVELS else [*levels[: MAX_LEVELS - 1], levels[-1]]


def _order(labels: NDArray[np.integer]) -> Codes:
    """Number groups by falling size."""
    sizes = np.bincount(labels[labels >= 0])
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))
    return np.where(labels >= 0, np.append(ranks, -1)[labels], -1).astype(np.int32)


def name_topics(papers: Sequence[Paper], codes: Codes) -> list[str]:
    """Name the topics of a level by phrases typical of their titles; no name is there twice."""
    groups = [np.flatnonzero(codes == number) for number in range(int(codes.max(initial=-1)) + 1)]
    names: dict[str, None] = {}
    for terms in find_typical_terms(papers, groups) if groups else ():
        choices = [*combinations(terms, SHOWN_TERMS), terms, *combinations(terms, 1)]
        best = ", ".join(terms[:SHOWN_TERMS]) or "topic"
        options = chain((", ".join(words) for words in choices if words), (f"{best} {n}" for n in count(2)))
        names[next(name for name in options if name not in names)] = None
    return list(names)


def describe_topics(names: Sequence[str], codes: Codes, positions: Floats) -> list[Topic]:
    """Return the topics of a level, with the median of their papers' positions as their middle."""
    topics = []
    for number, name in enumerate(names):
        members = positions[codes == number]
        middle = np.median(members, axis=0) if len(members) else np.zeros(2)
        radius = float(np.median(np.linalg.norm(members - middle, axis=1))) if len(members) else 0.0
        x, y = map(float, middle)
        topics.append(Topic(name=name, x=x, y=y, radius=radius, papers=len(members)))
    return topics

"""The interests of a library: groups of near papers, found by spherical k-means with a number that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.papers.records import Paper
from sciprism.seeding import sample
from sciprism.uses.recommending.interest_terms import find_typical_terms
from sciprism.uses.recommending.shared_space import normalize

MAX_INTERESTS = 10
MAX_ROUNDS = 50
MAX_COMPARED = 1000
"""Papers of a large library by which the number of interests is chosen, a random sample."""


@dataclass(frozen=True, slots=True)
class Interest:
    """A group of own papers: its number (from 1), typical terms, most central paper, and size."""

    number: int
    terms: tuple[str, ...]
    central: str
    papers: int

    @property
    def name(self) -> str:
        """Return its terms, or where it has none the title of its most central paper."""
        return ", ".join(self.terms) or self.central


def find_interests(vectors: Floats, count: int | None = None) -> Rows:
    """Return the interest of each own paper, numbered from 0 by falling size: (n, d) of length 1 -> (n,).

    count: how many; None: the number from 1 to 10 whose grouping has the highest mean silhouette (Rousseeuw 1987)
    with cosine distance, a group of one paper counting 0; at least two papers an interest on average. The same vectors
    give the same interests: each centre starts from the paper farthest from those before it.
    """
    if count is not None:
        return _sort_by_size(_group(vectors, min(count, len(vectors))))
    rows = np.array(sample(range(len(vectors)), MAX_COMPARED, "interests"), np.int64)
    compared = vectors[rows]
    distances = 1.0 - compared.astype(np.float64) @ compared.T.astype(np.float64)
    best, best_count = 0.0, 1
    for number in range(2, min(MAX_INTERESTS, len(rows) // 2) + 1):
        found = measure_silhouette(distances, _group(compared, number))
        if found > best:
            best, best_count = found, number
    return _sort_by_size(_group(vectors, best_count))


def measure_silhouette(distances: Doubles, groups: Rows) -> float:
    """Return the mean silhouette of papers with distances (n, n) in groups (n,), 0 of one group.

    A paper that is alone in its group counts 0.
    """
    if len(np.unique(groups)) < 2:
        return 0.0
    members = np.equal.outer(groups, np.unique(groups)).astype(np.int64)
    sizes = members.sum(axis=0)
    sums = distances @ members
    own = members.argmax(axis=1)
    rows = np.arange(len(groups))
    inside = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    values = np.where(sizes[own] > 1, (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12), 0.0)
    return float(values.mean())


def describe_interests(papers: Sequence[Paper], vectors: Floats, groups: Rows) -> list[Interest]:
    """Return every interest with the terms that are typical of its papers, compared with all own papers."""
    numbers = range(int(groups.max()) + 1)
    rows = [np.flatnonzero(groups == number) for number in numbers]
    terms = find_typical_terms(papers, rows)
    central = [int(each[(vectors[each] @ vectors[each].sum(axis=0)).argmax()]) for each in rows]
    found: list[Interest] = []
    for number in numbers:
        named = () if terms[number] in terms[:number] else terms[number]  # names differ
        found.append(Interest(number + 1, named, papers[central[number]].title, len(rows[number])))
    return found


def _group(vectors: Floats, count: int) -> Rows:
    """Group unit vectors (n, d) by spherical k-means (Dhillon and Modha 2001) -> (n,)."""
    nearest = vectors @ vectors[(vectors @ vectors.mean(axis=0)).argmax()]
    chosen = [int(nearest.argmax())]
    for _ in range(count - 1):
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    centres, groups = vectors[chosen], np.full(len(vectors), -1)
    for _ in range(MAX_ROUNDS):
        found = (vectors @ centres.T).argmax(axis=1)
        if np.array_equal(found, groups):
            break
        groups = found
        sums = np.zeros_like(centres)
        np.add.at(sums, groups, vectors)
        lost = np.bincount(groups, minlength=count) == 0  # a centre without papers stays
        sums[lost] = centres[lost]
        centres = normalize(sums)
    return groups


def _sort_by_size(groups: Rows) -> Rows:
    """Renumber groups from 0 by falling size, equal ones by their first paper."""
    _, first, numbers, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[numbers]

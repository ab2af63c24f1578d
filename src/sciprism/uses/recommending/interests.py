"""The interests of a library: groups of near papers, found by spherical k-means with a number that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.papers.records import Paper
from sciprism.seeding import derive_seed, sample
from sciprism.uses.recommending.interest_terms import find_typical_terms
from sciprism.uses.recommending.shared_space import normalize

MAX_INTERESTS = 10
MAX_ROUNDS = 50
RANDOM_STARTS = 8
SORTED = 8
"""Numbers of a vector by which papers are put in an order of their own."""
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
    with cosine distance; at least two papers an interest on average, and a paper that is alone joins the nearest
    interest. The same papers, in any order, give the same interests.
    """
    order = np.lexsort(vectors.T[:SORTED])  # by value, so that the order of the papers does not count
    groups = np.empty(len(vectors), np.int64)
    groups[order] = _choose_groups(vectors[order]) if count is None else _group_as_asked(vectors[order], count)
    return _sort_by_size(groups)


def _choose_groups(vectors: Floats) -> Rows:
    rows = np.array(sample(range(len(vectors)), MAX_COMPARED, "interests"), np.int64)
    compared = vectors[rows]
    distances = 1.0 - compared.astype(np.float64) @ compared.T.astype(np.float64)
    best, chosen = 0.0, np.zeros(len(vectors), np.int64)
    for number in range(2, min(MAX_INTERESTS, len(rows) // 2) + 1):
        for start in STARTS:
            found = _join_lone(compared, _group(compared, start(compared, number)))
            fit = measure_silhouette(distances, found)
            if fit > best:
                whole = len(rows) == len(vectors)
                best, chosen = fit, found if whole else _join_lone(vectors, _group(vectors, start(vectors, number)))
    return chosen


def _group_as_asked(vectors: Floats, count: int) -> Rows:
    """Return the grouping of the start whose papers are nearest to their centres."""
    number = min(count, len(vectors))
    found = [_group(vectors, start(vectors, number)) for start in STARTS]
    return max(found, key=lambda groups: _measure_cohesion(vectors, groups))


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


def _group(vectors: Floats, centres: Floats) -> Rows:
    """Group unit vectors (n, d) by spherical k-means (Dhillon and Modha 2001) from centres (k, d) -> (n,)."""
    groups = np.full(len(vectors), -1)
    for _ in range(MAX_ROUNDS):
        found = (vectors @ centres.T).argmax(axis=1)
        if np.array_equal(found, groups):
            break
        groups, old = found, centres
        centres = _find_centres(vectors, groups, len(centres))
        lost = np.bincount(groups, minlength=len(centres)) == 0
        centres[lost] = old[lost]  # a centre without papers stays
    return groups


def _start_far(vectors: Floats, count: int) -> Floats:
    """Return a central paper and those farthest from all before: they find small groups far from the others."""
    nearest = vectors @ vectors[(vectors @ vectors.mean(axis=0)).argmax()]
    chosen = [int(nearest.argmax())]
    for _ in range(count - 1):
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    return vectors[chosen]


def _start_spread(vectors: Floats, count: int) -> Floats:
    """Return the best of several random starts (k-means++): they find groups of even sizes."""
    best, chosen = -np.inf, vectors[:count]
    for seed in range(RANDOM_STARTS):
        random = np.random.default_rng(derive_seed("interests", count, seed))
        rows = [int(random.integers(len(vectors)))]
        nearest = vectors @ vectors[rows[0]]
        for _ in range(count - 1):
            far = np.maximum(1.0 - nearest.astype(np.float64), 0.0)
            rows.append(int(random.choice(len(vectors), p=far / far.sum() if far.any() else None)))
            nearest = np.maximum(nearest, vectors @ vectors[rows[-1]])
        fit = _measure_cohesion(vectors, _group(vectors, vectors[rows]))
        if fit > best:
            best, chosen = fit, vectors[rows]
    return chosen


STARTS = (_start_far, _start_spread)
"""Functions that return the first centres; one of each is tried for every number of interests."""


def _find_centres(vectors: Floats, groups: Rows, count: int) -> Floats:
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(sums, groups, vectors)
    return normalize(sums)


def _measure_cohesion(vectors: Floats, groups: Rows) -> float:
    """Return the sum of the cosines of papers with the centres of their groups."""
    centres = _find_centres(vectors, groups, int(groups.max()) + 1)
    return float((vectors * centres[groups]).sum(dtype=np.float64))


def _join_lone(vectors: Floats, groups: Rows) -> Rows:
    """Let each paper that is alone in its group join the nearest of the others."""
    sizes = np.bincount(groups)
    shared = np.flatnonzero(sizes > 1)
    if not len(shared) or not (sizes == 1).any():
        return groups
    centres = _find_centres(vectors, groups, len(sizes))[shared]
    lone = np.flatnonzero(sizes[groups] == 1)
    joined = groups.copy()
    joined[lone] = shared[(vectors[lone] @ centres.T).argmax(axis=1)]
    return joined


def _sort_by_size(groups: Rows) -> Rows:
    """Renumber groups from 0 by falling size, equal ones by their first paper."""
    _, first, numbers, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[numbers]

"""The interests of a library: groups of near papers, found by spherical k-means with a number that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows, normalize_rows
from sciprism.papers.identity import normalise_words
from sciprism.papers.records import Paper
from sciprism.seeding import derive_seed, sample

MAX_INTERESTS = 10
MAX_ROUNDS = 50
RANDOM_STARTS = 8
SORTED = 8
"""Numbers of a vector by which papers are put in an order of their own."""
MAX_COMPARED = 1000
"""Papers of a large library by which the number of interests is chosen, a random sample."""
TERMS = 3
MIN_LETTERS = 3
PAIR_WEIGHT = 1.5
"""How much more a pair of words says than a word of the same frequency."""
_STOP_WORDS = """
about above across after again against all along already also although among and any apart approach approaches are
article author authors based because been before being below best better between both but can case cases compared
could data described different does doing down due during each effect effects either enough etc even every example
examples few first for from further get give given gives had has have having here high how however important improve
improved include including into introduce introduced investigate its itself key known large later less like made main
make makes making many may mean method methods might model models more most much must need needs neither new non nor
not novel now number obtained off often one only open order other others our out over own paper papers part particular
per perform performance possible present presented presents problem problems propose proposed proposes provide
provided provides recent recently related research result results review same set several should show showed shown
shows significant significantly similar since single small some still studied studies study such system systems
technique techniques than that the their them then there therefore these they third this those three through thus
time together too toward towards two type types under understanding until upon use used useful user users uses using
various very via was way ways well were what when where whether which while who whose why wide will with within
without work works would yet you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


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
            groups = _join_lone(compared, _group(compared, start(compared, number)))
            fit = measure_silhouette(distances, groups)
            if fit > best:
                whole = len(rows) == len(vectors)
                best, chosen = fit, groups if whole else _join_lone(vectors, _group(vectors, start(vectors, number)))
    return chosen


def _group_as_asked(vectors: Floats, count: int) -> Rows:
    """Return the grouping of the start whose papers are nearest to their centres."""
    number = min(count, len(vectors))
    groupings = [_group(vectors, start(vectors, number)) for start in STARTS]
    return max(groupings, key=lambda groups: _measure_cohesion(vectors, groups))


def measure_silhouette(distances: Doubles, groups: Rows) -> float:
    """Return the mean silhouette of papers with distances (n, n) in groups (n,), 0 of one group.

    A paper that is alone in its group counts 0.
    """
    if len(np.unique(groups)) < 2:
        return 0.0
    members = np.equal.outer(groups, np.unique(groups)).astype(np.int64)
    sizes = members.sum(axis=0)
    sums = distances @ members
    group_of = members.argmax(axis=1)
    rows = np.arange(len(groups))
    inside = sums[rows, group_of] / np.maximum(sizes[group_of] - 1, 1)
    means = sums / sizes
    means[rows, group_of] = np.inf
    outside = means.min(axis=1)
    values = np.where(sizes[group_of] > 1, (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12), 0.0)
    return float(values.mean())


def describe_interests(papers: Sequence[Paper], vectors: Floats, groups: Rows) -> list[Interest]:
    """Return every interest with the terms that are typical of its papers, compared with all own papers."""
    numbers = range(int(groups.max()) + 1)
    rows = [np.flatnonzero(groups == number) for number in numbers]
    terms = find_typical_terms(papers, rows)
    central = [int(members[(vectors[members] @ vectors[members].sum(axis=0)).argmax()]) for members in rows]
    interests: list[Interest] = []
    for number in numbers:
        named = () if terms[number] in terms[:number] else terms[number]  # names differ
        interests.append(Interest(number + 1, named, papers[central[number]].title, len(rows[number])))
    return interests


def _group(vectors: Floats, centres: Floats) -> Rows:
    """Group unit vectors (n, d) by spherical k-means (Dhillon and Modha 2001) from centres (k, d) -> (n,)."""
    groups = np.full(len(vectors), -1)
    for _ in range(MAX_ROUNDS):
        nearest = (vectors @ centres.T).argmax(axis=1)
        if np.array_equal(nearest, groups):
            break
        groups, old = nearest, centres
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
    return normalize_rows(sums)


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


def find_typical_terms(papers: Sequence[Paper], groups: Sequence[Rows]) -> list[tuple[str, ...]]:
    """Return up to three terms of each group of papers, the most typical first, no two of which share a word.

    A term's weight is the share of the group's papers that have it, times log((n + 1) / number of all n papers that
    have it). A term of one paper alone counts only in groups of up to two. Of several groups, a term counts where it
    is more frequent than in all papers.
    """
    terms = [_list_terms(paper) for paper in papers]
    everywhere = Counter(term for paper_terms in terms for term in paper_terms)
    typical = []
    for rows in groups:
        here = Counter(term for row in rows.tolist() for term in terms[row])
        needed = 2 if len(rows) > 2 else 1
        weights = {
            term: count / len(rows) * log((len(papers) + 1) / everywhere[term]) * (PAIR_WEIGHT if " " in term else 1)
            for term, count in here.items()
            if count >= needed and (len(groups) == 1 or count * len(papers) > everywhere[term] * len(rows))
        }
        typical.append(_choose_terms(sorted(weights, key=lambda term: (-weights[term], term))))
    return typical


def _choose_terms(ranked: Iterable[str]) -> tuple[str, ...]:
    chosen: list[str] = []
    stems: set[str] = set()
    for term in ranked:
        words = {word.rstrip("s") for word in term.split()}
        if not words & stems:
            chosen.append(term)
            stems |= words
        if len(chosen) == TERMS:
            break
    return tuple(chosen)


def _list_terms(paper: Paper) -> set[str]:
    """Return the words and pairs of neighbouring words of title and abstract, without stop words."""
    terms: set[str] = set()
    for text in (paper.title, paper.abstract):
        words = [word if _says_something(word) else "" for word in normalise_words(text)]
        terms |= {word for word in words if word}
        terms |= {f"{one} {two}" for one, two in pairwise(words) if one and two}
    return terms


def _says_something(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word not in STOP_WORDS and not word.isdigit()

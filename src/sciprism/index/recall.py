"""Choose the settings of an approximate search by its recall on held-out queries, compared with exact search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.index.build_record import Settings
from sciprism.index.exact import normalize_for, topk
from sciprism.store import StoredCollection

K = 10  # papers of an answer whose recall is measured
QUERIES = 512  # queries of each group: a recall of 0.95 is then known to about 0.005
TIES = 16  # rows beyond K that are compared, since some may have the score of the K-th
OWN = 32  # further rows that are found, since some are the query itself or have its title


class CandidateSearch(Protocol):
    """An index that finds candidates: more effort finds more of the nearest, a greater depth scores more exactly."""

    depths: tuple[int, ...]
    efforts: tuple[int, ...]

    @property
    def settings(self) -> Settings:
        """Return the settings that were chosen when it was built."""

    def find(self, queries: Floats, depth: int, effort: int, selector: Any = None) -> Rows:
        """Return the candidates of each query (m, d): rows (m, depth), nearest first, -1 for none."""

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return what a search costs, to compare settings."""


@dataclass(frozen=True, slots=True)
class QueryGroup:
    """Queries (m, d) of one kind, and the rows (m, K + TIES) that answer them, -1 for none.

    needed: how many of its answers a query can have at most, K or the rows there are.
    """

    name: str
    vectors: Floats
    answers: Rows
    needed: int

    def measure(self, found: Rows) -> Floats:
        """Return the recall of each query; found: candidates (m, c)."""
        hits = [np.isin(wanted[wanted >= 0], rows).sum() for wanted, rows in zip(self.answers, found, strict=True)]
        recall: Floats = (np.minimum(hits, self.needed) / self.needed).astype(np.float32)
        return recall


@dataclass(frozen=True, slots=True)
class TitleQueries:
    """Titles of stored papers, and their vectors (m, d), encoded as queries."""

    titles: Sequence[str]
    vectors: Floats


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings with the recall of each group of queries (mean and standard error); reached: all have the wanted one."""

    effort: int
    depth: int
    recall: dict[str, tuple[float, float]]
    reached: bool

    @property
    def lowest(self) -> float:
        """Return the mean recall of the group that has the lowest."""
        return min(mean for mean, _ in self.recall.values())


def choose_papers(collection: StoredCollection, seed: int) -> Rows:
    """Return the rows of QUERIES random papers, ascending; of all where there are fewer."""
    mask = collection.mask()
    live = None if mask is None else np.flatnonzero(mask)
    count = min(QUERIES, len(collection))
    rows: Rows = np.random.default_rng(seed).choice(collection.rows if live is None else live, count, replace=False)
    return np.sort(rows)


def build_queries(collection: StoredCollection, space: str, titles: TitleQueries | None) -> list[QueryGroup]:
    """Return two groups of queries with their exact answers: stored papers, as in `similar`, and texts, as in `search`.

    Texts are titles. Without titles, each paper is moved in a random direction, as far as its K-th neighbour is: like a
    query in words, the result is between papers. No paper answers a query that is the paper itself or its own title:
    people search for papers that they do not have, and a paper is easier to find by its title than others are.
    """
    distance = collection.manifest.encoder.distance
    rows = choose_papers(collection, 0)
    papers = normalize_for(collection.read_rows(space, rows).block(0, len(rows)), distance)
    first = _answer(collection, space, "papers", papers, lambda answers: answers == rows[:, None])
    if titles is not None and len(titles.titles):
        own_titles = np.array([_fold(title) for title in titles.titles], object)[:, None]
        vectors = normalize_for(titles.vectors, distance)
        return [
            first,
            _answer(collection, space, "titles", vectors, lambda rows: _titles_at(collection, rows) == own_titles),
        ]
    last = np.maximum(first.answers[:, first.needed - 1], 0)
    neighbours = normalize_for(collection.read_rows(space, last).block(0, len(last)), distance)
    lengths = np.linalg.norm(neighbours - first.vectors, axis=1, keepdims=True)
    noise = np.random.default_rng(0).standard_normal(first.vectors.shape, np.float32)
    noise *= lengths / np.linalg.norm(noise, axis=1, keepdims=True)
    return [first, _answer(collection, space, "perturbed papers", normalize_for(first.vectors + noise, distance), None)]


def _answer(
    collection: StoredCollection, space: str, name: str, vectors: Floats, is_own: Callable[[Rows], Any] | None
) -> QueryGroup:
    """Return queries with their exact answers; is_own: marks the rows (m, c) that are none of each query.

    Queries that have fewer answers than most are left out.
    """
    distance, shards = collection.manifest.encoder.distance, collection.vectors(space)
    scores, answers = topk(vectors, shards, K + TIES + OWN, mask=collection.mask(), distance=distance)
    if is_own is not None:
        scores[is_own(answers)] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : K + TIES]
    scores, answers = np.take_along_axis(scores, order, 1), np.take_along_axis(answers, order, 1)
    counts = (~np.isneginf(scores)).sum(axis=1)
    needed = max(1, min(K, int(np.median(counts))))
    answers[(scores < scores[:, needed - 1 : needed]) | np.isneginf(scores)] = -1
    enough = counts >= needed
    return QueryGroup(name, vectors[enough], answers[enough], needed)


def _titles_at(collection: StoredCollection, rows: Rows) -> NDArray[np.object_]:
    wanted, places = np.unique(rows, return_inverse=True)
    titles = np.full(len(wanted), "", object)
    first = 0
    for (column,) in collection.columns("title"):
        begin, end = np.searchsorted(wanted, [first, first + len(column)])
        titles[begin:end] = [_fold(column[row - first]) for row in wanted[begin:end]]
        first += len(column)
    titles_of_rows: NDArray[np.object_] = titles[places].reshape(rows.shape)
    return titles_of_rows


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())


def choose_settings(
    index: CandidateSearch, groups: Sequence[QueryGroup], wanted: float, selector: Any, on_tried: Callable[[int], None]
) -> Choice:
    """Return the cheapest settings whose recall is at least `wanted` in each group, by one standard error.

    Where none reaches it, return the settings of the highest recall. selector: the rows that may be found. on_tried:
    called with the number of efforts tried.
    """
    best: tuple[float, Choice] | None = None
    former = -1.0
    for number, effort in enumerate(index.efforts, 1):
        choices = list(_try_effort(index, groups, effort, wanted, selector))
        on_tried(number)
        costs = [max(index.cost(group.vectors, choice.depth, effort) for group in groups) for choice in choices]
        for cost, choice in zip(costs, choices, strict=True):
            if best is None or _is_better(cost, choice, *best):
                best = cost, choice
        deepest = choices[-1].lowest
        if best is not None and best[1].reached and min(costs) >= best[0]:
            break
        if deepest <= former:
            break  # what is missing does not depend on the effort
        former = deepest
    assert best is not None
    return best[1]


def double(first: int, last: int) -> tuple[int, ...]:
    """Return first, twice first and so on, and last."""
    return (*takewhile(lambda effort: effort < last, (first << step for step in count())), last)


def _try_effort(
    index: CandidateSearch, groups: Sequence[QueryGroup], effort: int, wanted: float, selector: Any
) -> Iterator[Choice]:
    """Yield the recall of one effort with each depth: candidates are scored exactly, so the nearest are found."""
    candidates = [index.find(group.vectors, index.depths[-1], effort, selector) for group in groups]
    for depth in index.depths:
        recall = {}
        for group, rows in zip(groups, candidates, strict=True):
            recalls = group.measure(rows[:, :depth])
            recall[group.name] = (float(recalls.mean()), float(recalls.std() / len(recalls) ** 0.5))
        reached = all(mean - error >= wanted for mean, error in recall.values())
        yield Choice(effort, depth, recall, reached)


def _is_better(cost: float, choice: Choice, best_cost: float, best: Choice) -> bool:
    if choice.reached != best.reached:
        return choice.reached
    if choice.reached or choice.lowest == best.lowest:
        return cost < best_cost
    return choice.lowest > best.lowest

"""Scores of ranked lists by the rules of trec_eval, for many queries at once.

Scores are compared in single precision and ties go to the larger document id (by code points, so "9" stands
before "10"). A document is relevant from grade 1 on; its grade is its gain, nothing below 0 counts. The ideal
ranking is made of all judged documents, found or not. A query without a relevant document scores 0.
Facts: SciRepEval's and BEIR's evaluation, checked against pytrec_eval.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.metrics.alignment import Whole, check_aligned, ratio
from sciprism.registry import Registry

Ids = Sequence[str] | NDArray[np.str_]
Run = Mapping[str, tuple[Ids, ArrayLike]]
"""For each query the ids that were retrieved, in any order, and their scores (more is better)."""
Qrels = Mapping[str, Mapping[str, int]]
"""For each query the grade of each judged document."""
Missing = Literal["drop", "zero"]


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Relevant documents where they stand: row of the query, rank from 1, grade from 1, each (h,)."""

    query: Whole
    rank: Whole
    grade: Whole


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """What every metric needs of judged rankings; each metric gives one value per query, in this order.

    retrieved: (q,) documents ranked for each query. missing: judged queries that the run lacks, among
    `queries` only where they count as 0. unjudged: queries of the run without any judgement, left out.
    """

    queries: tuple[str, ...]
    found: Hits
    ideal: Hits
    retrieved: Whole
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]


class RankingMetric(Protocol):
    """Score each query of the rankings down to a depth, or all the way."""

    def __call__(self, rankings: Rankings, depth: int | None = None) -> Doubles:
        """Return one value per query, (q,)."""
        ...


ranking_metrics: Registry[RankingMetric] = Registry("ranking metric")


@dataclass(frozen=True, slots=True)
class NamedMetric:
    """A ranking metric with its depth, as a name such as "ndcg@10" asks for it."""

    name: str
    metric: RankingMetric
    depth: int | None

    def __call__(self, rankings: Rankings) -> Doubles:
        """Return one value per query, (q,)."""
        return self.metric(rankings, self.depth)


def parse_metric(name: str) -> NamedMetric:
    """Find the metric that a name asks for: "map", "ndcg@10", "recall@100"; InputError lists the known."""
    family, at, cut = name.partition("@")
    metric = ranking_metrics[family]
    if at and not re.fullmatch(r"[1-9][0-9]*", cut):
        raise InputError(f'ranking metric {name!r}: {cut!r} is no depth; write a whole number, "{family}@10"')
    return NamedMetric(name, metric, int(cut) if at else None)


def depth(name: str) -> int | None:
    """Return how many ranks the metric of that name looks at; None for all."""
    return parse_metric(name).depth


def rank(ids: Ids, scores: ArrayLike) -> Whole:
    """Order one query's documents, best first: (n,) places in `ids`; InputError for NaN or repeated ids."""
    return _order([("", _strings(ids), np.asarray(scores))])


def judge(run: Run, qrels: Qrels, *, missing: Missing) -> Rankings:
    """Rank each query's documents and look up their grades.

    missing: what becomes of judged queries that are not in the run. "drop" leaves them out, as trec_eval
    does; "zero" scores them 0, so that a system gains nothing by staying silent. They are named either way.
    Raises InputError for a document ranked twice, a score that is NaN, a grade that is not whole.
    """
    if missing not in get_args(Missing):
        raise InputError(
            f"unknown rule {missing!r} for missing queries; known: {', '.join(get_args(Missing))}"
        )
    judged = [query for query, grades in qrels.items() if len(grades)]
    absent = tuple(query for query in judged if query not in run)
    queries = tuple(judged if missing == "zero" else (query for query in judged if query in run))
    lists = [(query, *_ranked(run[query])) if query in run else (query, [], np.empty(0)) for query in queries]
    lengths = np.array([len(ids) for _, ids, _ in lists], dtype=np.int64)
    ideal = _grades([grade for query in queries for grade in qrels[query].values()])
    found = (map(qrels[query].get, ids, repeat(0)) for query, ids, _ in lists)
    grades = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=int(lengths.sum()))
    owner = np.repeat(np.arange(len(queries)), [len(qrels[query]) for query in queries])
    best = np.lexsort((-ideal, owner))
    return Rankings(
        queries=queries,
        found=_hits(np.repeat(np.arange(len(queries)), lengths), grades[_order(lists)], len(queries)),
        ideal=_hits(owner, ideal[best], len(queries)),
        retrieved=lengths,
        missing=absent,
        unjudged=tuple(query for query in run if not len(qrels.get(query, ()))),
    )


@ranking_metrics.register("ndcg")
def ndcg(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Divide the discounted gain by that of the ideal ranking: sum grade / log2(rank + 1)."""
    return ratio(_discounted(rankings, rankings.found, depth), _discounted(rankings, rankings.ideal, depth))


@ranking_metrics.register("map")
def average_precision(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Average the precision at each relevant document over all relevant ones; one not ranked counts 0."""
    hits = rankings.found
    firsts = np.searchsorted(hits.query, np.arange(len(rankings.queries)))
    nth = np.arange(len(hits.query)) - firsts[hits.query] + 1
    return ratio(_sum(rankings, hits, depth, nth / hits.rank), _relevant(rankings))


@ranking_metrics.register("p")
def precision(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Count the relevant among the first `depth`, divided by `depth` even where fewer were ranked.

    Without a depth: divided by the number of ranked documents.
    """
    size = (
        rankings.retrieved.astype(np.float64)
        if depth is None
        else np.full(len(rankings.queries), float(depth))
    )
    return ratio(_sum(rankings, rankings.found, depth), size)


@ranking_metrics.register("recall")
def recall(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Count the relevant among the first `depth`, divided by all that are relevant."""
    return ratio(_sum(rankings, rankings.found, depth), _relevant(rankings))


@ranking_metrics.register("mrr")
def reciprocal_rank(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Give 1/r for the first relevant document at rank r <= depth, else 0."""
    hits = rankings.found
    first = np.diff(hits.query, prepend=-1) > 0  # hits stand in the order of queries and ranks
    return _sum(rankings, hits, depth, first / hits.rank)


@ranking_metrics.register("success")
def success(rankings: Rankings, depth: int | None = None) -> Doubles:
    """Give 1 where any of the first `depth` is relevant, else 0."""
    return np.minimum(_sum(rankings, rankings.found, depth), 1.0)


def _discounted(rankings: Rankings, hits: Hits, depth: int | None) -> Doubles:
    return _sum(rankings, hits, depth, hits.grade / np.log2(hits.rank + 1.0))


def _relevant(rankings: Rankings) -> Doubles:
    return _sum(rankings, rankings.ideal, None)


def _sum(rankings: Rankings, hits: Hits, depth: int | None, values: Doubles | None = None) -> Doubles:
    """Add the values (h,) of each query's hits, or 1 for each, down to a depth, in the order of ranks."""
    if values is None:
        values = np.ones(len(hits.rank))
    inside = slice(None) if depth is None else hits.rank <= depth
    sums: Doubles = np.bincount(hits.query[inside], values[inside], minlength=len(rankings.queries)).astype(
        np.float64
    )
    return sums


def _hits(owner: Whole, grades: Whole, queries: int) -> Hits:
    """Keep the relevant of documents (n,) that stand in the order of queries and ranks."""
    ranks = np.arange(len(owner)) - np.searchsorted(owner, np.arange(queries))[owner] + 1
    relevant = grades >= 1
    return Hits(owner[relevant], ranks[relevant], grades[relevant])


def _ranked(pair: tuple[Ids, ArrayLike]) -> tuple[list[str], NDArray[Any]]:
    return _strings(pair[0]), np.asarray(pair[1])


def _strings(ids: Ids) -> list[str]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _grades(values: Sequence[float]) -> Whole:
    grades = np.array(values, dtype=np.float64)
    whole: Whole = grades.astype(np.int64)
    if not np.array_equal(whole, grades):
        bad = grades[whole != grades][0]
        raise InputError(f"qrels: {bad} is no grade; grades are whole numbers, relevant from 1 on")
    return whole


def _order(lists: Sequence[tuple[str, list[str], NDArray[Any]]]) -> Whole:
    """Order the documents of all queries, laid end to end: by query, then as ranked."""
    for query, ids, scores in lists:
        _check(query, ids, scores)
    ends = np.cumsum([0, *(len(ids) for _, ids, _ in lists)])
    with np.errstate(over="ignore"):  # what is too large for single precision ties at infinity
        scores = np.concatenate([np.empty(0), *(scores for _, _, scores in lists)]).astype(np.float32)
    order = np.empty(len(scores), dtype=np.int64)
    for start, end in pairwise(ends.tolist()):  # many short sorts are quicker than a long one by two keys
        order[start:end] = np.argsort(-scores[start:end]) + start
    # Strings are slow to sort, so only the runs of equal scores are sorted by id.
    ranked = scores[order]
    tied = np.concatenate([[False], ranked[1:] == ranked[:-1], [False]])[: len(order) + 1]
    tied[ends] = False
    edges = np.flatnonzero(tied[1:] != tied[:-1])
    if len(edges):
        ids = [i for _, ids, _ in lists for i in ids]
        for start, end in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
            order[start:end] = sorted(order[start:end].tolist(), key=ids.__getitem__, reverse=True)
    return order


def _check(query: str, ids: list[str], scores: NDArray[Any]) -> None:
    where = f"query {query!r}" if query else "a ranking"
    check_aligned(ids, scores, f"{where}, ids and scores")
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise InputError(f"{where}: document {twice!r} is ranked twice; keep one score for each document")
    if np.isnan(scores).any():
        raise InputError(f"{where}: document {ids[int(np.isnan(scores).argmax())]!r} has the score NaN")

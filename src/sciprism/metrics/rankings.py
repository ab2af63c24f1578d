"""Ranking metrics by the rules of trec_eval, for many queries at once; clicks and pairs in order.

Scores are compared in single precision; ties go to the larger document id (by code points, so "9" is before
"10"). A document of a grade above 0 is relevant, and its grade is its gain. The ideal ranking has all judged
documents, retrieved or not. A query without a relevant document scores 0.
Facts: SciRepEval's and BEIR's evaluation, checked against pytrec_eval.

Click metrics are adjusted for the position of the clicked paper (SciDocs). Pair metrics tell whether scores rank pairs
of papers as their rater does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles, Integers, check_aligned, check_finite, safe_divide
from sciprism.errors import InputError
from sciprism.registry import Registry

Ids = Sequence[str] | NDArray[np.str_]
Run = Mapping[str, tuple[Ids, ArrayLike]]
"""Query -> ids of the retrieved documents, in any order, and their scores (more is better)."""
Qrels = Mapping[str, Mapping[str, float]]  # query -> document -> relevance grade


@dataclass(frozen=True, slots=True, eq=False)
class RelevantHits:
    """Relevant documents in rankings: row of the query, rank from 1, grade above 0, each (h,)."""

    query: Integers
    rank: Integers
    grade: Doubles


@dataclass(frozen=True, slots=True, eq=False)
class GradedRankings:
    """Rankings with relevance grades: the input of every metric, which gives one value per query in order.

    retrieved: (q,) documents ranked for each query.
    """

    queries: tuple[str, ...]
    hits: RelevantHits
    ideal: RelevantHits
    retrieved: Integers


RankingMetric = Callable[[GradedRankings, int | None], Doubles]
"""Returns one value per query, (q,), of the rankings down to a depth, or to the end."""
ranking_metrics: Registry[RankingMetric] = Registry("ranking metric")


def parse_metric(name: str) -> tuple[RankingMetric, int | None]:
    """Return the metric and the depth of a name such as "map" or "ndcg@10"; InputError lists the known ones."""
    family, at, cut = name.partition("@")
    metric = ranking_metrics[family]
    if at and not re.fullmatch(r"[1-9][0-9]*", cut):
        raise InputError(f'ranking metric {name!r}: {cut!r} is not a depth; write a positive integer, "{family}@10"')
    return metric, int(cut) if at else None


def grade_rankings(run: Run, qrels: Qrels) -> GradedRankings:
    """Rank the documents of each query with judgements and look up their relevance grades.

    Judged queries that are not in the run score 0, so that a system gains nothing by skipping them; trec_eval
    ignores them. InputError for a document that is ranked twice, or a NaN score.
    """
    queries = tuple(query for query, grades in qrels.items() if len(grades))
    ranked = ((query, *run.get(query, ((), ()))) for query in queries)
    lists = [
        (query, ids.tolist() if isinstance(ids, np.ndarray) else list(ids), np.asarray(scores))
        for query, ids, scores in ranked
    ]
    lengths = np.array([len(ids) for _, ids, _ in lists], dtype=np.int64)
    ideal = check_finite([grade for query in queries for grade in qrels[query].values()], "qrels")
    grades_by_query = (map(qrels[query].get, ids, repeat(0)) for query, ids, _ in lists)
    grades = np.fromiter(chain.from_iterable(grades_by_query), dtype=np.float64, count=int(lengths.sum()))
    owner = np.repeat(np.arange(len(queries)), [len(qrels[query]) for query in queries])
    best = np.lexsort((-ideal, owner))
    return GradedRankings(
        queries=queries,
        hits=_select_hits(np.repeat(np.arange(len(queries)), lengths), grades[_rank_all(lists)], len(queries)),
        ideal=_select_hits(owner, ideal[best], len(queries)),
        retrieved=lengths,
    )


@ranking_metrics.register("ndcg")
def ndcg(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return nDCG: the sum of grade / log2(rank + 1), divided by that of the ideal ranking."""
    gain, ideal = (
        _sum(rankings, hits, depth, hits.grade / np.log2(hits.rank + 1.0)) for hits in (rankings.hits, rankings.ideal)
    )
    return safe_divide(gain, ideal)


@ranking_metrics.register("map")
def average_precision(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return average precision: the mean over all relevant documents; one not ranked counts 0."""
    hits = rankings.hits
    firsts = np.searchsorted(hits.query, np.arange(len(rankings.queries)))
    nth = np.arange(len(hits.query)) - firsts[hits.query] + 1
    return safe_divide(_sum(rankings, hits, depth, nth / hits.rank), _sum(rankings, rankings.ideal))


@ranking_metrics.register("p")
def precision(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return the relevant documents among the first `depth`, divided by `depth` even if fewer were ranked.

    Without a depth: divided by the number of ranked documents.
    """
    size = rankings.retrieved if depth is None else np.full_like(rankings.retrieved, depth)
    return safe_divide(_sum(rankings, rankings.hits, depth), size.astype(np.float64))


@ranking_metrics.register("recall")
def recall(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return the share of relevant documents that are among the first `depth`."""
    return safe_divide(_sum(rankings, rankings.hits, depth), _sum(rankings, rankings.ideal))


@ranking_metrics.register("mrr")
def reciprocal_rank(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return 1/r for the first relevant document at rank r <= depth, else 0."""
    hits = rankings.hits
    first = np.diff(hits.query, prepend=-1) > 0  # hits are in the order of queries and ranks
    return _sum(rankings, hits, depth, first / hits.rank)


@ranking_metrics.register("success")
def success(rankings: GradedRankings, depth: int | None = None) -> Doubles:
    """Return 1 if any of the first `depth` is relevant, else 0."""
    return np.minimum(_sum(rankings, rankings.hits, depth), 1.0)


def _sum(
    rankings: GradedRankings, hits: RelevantHits, depth: int | None = None, values: Doubles | None = None
) -> Doubles:
    """Add the values (h,) of each query's hits, or 1 for each, down to a depth, in the order of ranks."""
    inside = slice(None) if depth is None else hits.rank <= depth
    added = None if values is None else values[inside]
    sums = np.bincount(hits.query[inside], added, minlength=len(rankings.queries))
    return sums.astype(np.float64)


def _select_hits(owner: Integers, grades: Doubles, queries: int) -> RelevantHits:
    """Return the relevant ones of documents (n,) in the order of queries and ranks."""
    ranks = np.arange(len(owner)) - np.searchsorted(owner, np.arange(queries))[owner] + 1
    relevant = grades > 0
    return RelevantHits(owner[relevant], ranks[relevant], grades[relevant])


def _rank_all(lists: Sequence[tuple[str, list[str], NDArray[Any]]]) -> Integers:
    """Return the order of the concatenated documents of all queries: by query, then by rank."""
    for query, ids, scores in lists:
        where = f"query {query!r}"
        check_aligned(ids, scores, f"{where}, ids and scores")
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise InputError(f"{where}: document {twice!r} is ranked twice; keep one score for each document")
        if np.isnan(scores).any():
            raise InputError(f"{where}: document {ids[int(np.isnan(scores).argmax())]!r} has the score NaN")
    ends = np.cumsum([0, *(len(ids) for _, ids, _ in lists)])
    with np.errstate(over="ignore"):  # values too large for single precision tie at infinity
        scores = np.concatenate([np.empty(0), *(scores for _, _, scores in lists)]).astype(np.float32)
    order = np.empty(len(scores), dtype=np.int64)
    for start, end in pairwise(ends.tolist()):  # many short sorts are faster than one long sort by two keys
        order[start:end] = np.argsort(-scores[start:end]) + start
    # sorting strings is slow, so only runs of equal scores are sorted by id
    ranked = scores[order]
    tied = np.concatenate([[False], ranked[1:] == ranked[:-1], [False]])[: len(order) + 1]
    tied[ends] = False
    edges = np.flatnonzero(tied[1:] != tied[:-1])
    if len(edges):
        ids = [i for _, ids, _ in lists for i in ids]
        for start, end in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
            order[start:end] = sorted(order[start:end].tolist(), key=ids.__getitem__, reverse=True)
    return order


def click_scores(
    shown: Sequence[ArrayLike], clicked: Sequence[int], propensities: ArrayLike
) -> tuple[Doubles, Doubles, Doubles]:
    """Return of each click gain 1 / log2(2 + above), 1 if above is 0 (else 0), and weight 1 / propensity, each (n,).

    above: number of papers of the same list that score higher; a tie counts half. The weighted means of gain and of
    firsts are the adjusted nDCG and P@1. shown: scores of the papers in the order of display; clicked: position from 0.
    propensities: the probability, by position, that a paper is examined; rare ones weigh more. InputError if
    a position is outside its list or has no propensity above 0.
    """
    check_aligned(shown, clicked, "lists and clicks")
    if not len(shown):
        raise InputError("there is no click; nothing can be scored")
    by_position = check_finite(propensities, "propensities")
    above = np.zeros(len(shown))
    for number, (scores, at) in enumerate(zip(shown, clicked, strict=True)):
        values = check_finite(scores, f"click {number + 1}, scores")
        if not 0 <= at < len(values):
            raise InputError(f"click {number + 1}: position {at} is outside the list of {len(values)} papers")
        higher, equal = (values > values[at]).sum(), (values == values[at]).sum() - 1
        above[number] = higher + equal / 2
    if max(clicked) >= len(by_position) or not (by_position[list(clicked)] > 0).all():
        raise InputError(f"a clicked position has no propensity above 0; {len(by_position)} are given")
    return 1 / np.log2(2 + above), (above == 0).astype(np.float64), 1 / by_position[list(clicked)]


@dataclass(frozen=True, slots=True, eq=False)
class PairOrder:
    """Each rater's score and the weight of all pairs behind it, both (r,).

    unordered: raters whose ratings are all equal; they are dropped.
    """

    raters: tuple[str, ...]
    values: Doubles
    weights: Doubles
    unordered: tuple[str, ...]


def pair_order(raters: Sequence[str], ratings: ArrayLike, scores: ArrayLike) -> PairOrder:
    """Score 1 - loss for each rater, from aligned raters, ratings and scores of papers, each (n,).

    A pair of a rater's papers is weighted by the difference of its ratings. It is lost if the scores reverse
    it, half lost if they tie (loss of Stelmakh et al., A Gold Standard Dataset for the Reviewer Assignment
    Problem, 2023). Random scores give 0.5.
    """
    rated, scored = check_finite(ratings, "ratings"), check_finite(scores, "scores")
    check_aligned(raters, rated, "raters and ratings")
    check_aligned(rated, scored, "ratings and scores")
    rows: dict[str, list[int]] = {}
    for row, rater in enumerate(raters):
        rows.setdefault(rater, []).append(row)
    counts: dict[str, tuple[float, float]] = {}  # weight of correctly ordered pairs, half of the tied; of all
    for rater, papers in rows.items():
        weights = np.maximum(rated[papers, None] - rated[None, papers], 0.0)
        right = (1 + np.sign(scored[papers, None] - scored[None, papers])) / 2
        counts[rater] = float((weights * right).sum()), float(weights.sum())
    ordered = {rater: pair for rater, pair in counts.items() if pair[1] > 0}
    hits, totals = np.array(list(ordered.values()), dtype=np.float64).reshape(-1, 2).T
    return PairOrder(tuple(ordered), hits / totals, totals, tuple(rater for rater in counts if rater not in ordered))

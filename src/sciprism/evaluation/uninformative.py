"""Find metrics that cannot compare systems on given data: all would get one value, or a constant scores full points.

Custom tasks report the reason in place of such a number. Published suites are scored as published.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sciprism.datasets import inputs
from sciprism.evaluation.item_scores import score_rankings
from sciprism.evaluation.protocols.label import LabelProtocol
from sciprism.evaluation.protocols.match import PAIRWISE
from sciprism.evaluation.protocols.rank import DEFAULT_DEPTH
from sciprism.metrics.rankings import parse_metric

BLOCK = 256  # queries whose best and worst rankings are scored at once


class _Pool(NamedTuple):
    """The grades of a query's candidates, and those of papers that cannot be found."""

    grades: Sequence[int]
    absent: Sequence[int] = ()


@singledispatch
def explain_uninformative(data: Any, protocol: Any) -> dict[str, str]:  # noqa: ARG001 (the registered ones read both)
    """Return the metrics of a protocol that these data cannot inform, with the reason."""
    return {}


@explain_uninformative.register
def _(data: inputs.RerankInput, protocol: Any) -> dict[str, str]:
    absent = data.absent or [{}] * len(data.pools)
    pools = [_Pool(g.tolist(), list(a.values())) for g, a in zip(data.grades, absent, strict=True) if len(g)]
    return _explain_rankings(protocol.metrics, pools, "query", "candidate")


@explain_uninformative.register
def _(data: inputs.RetrievalInput, protocol: Any) -> dict[str, str]:
    depth = max(parse_metric(name)[1] or DEFAULT_DEPTH for name in protocol.metrics)

    def pools() -> Iterator[_Pool]:
        for i, (judged, grades) in enumerate(zip(data.judged, data.grades, strict=True)):
            hidden = np.zeros(0, np.int64) if data.excluded is None else data.excluded[i]
            findable = ~np.isin(judged, hidden)
            others = len(data.documents) - len(np.union1d(judged, hidden))
            if len(judged):
                yield _Pool(grades[findable].tolist() + [0] * min(others, depth), grades[~findable].tolist())

    return _explain_rankings(protocol.metrics, pools(), "query", "paper")


@explain_uninformative.register
def _(data: inputs.MatchInput, protocol: Any) -> dict[str, str]:
    by_paper, by_reviewer = defaultdict[int, list[float]](list), defaultdict[int, list[float]](list)
    for (paper, reviewer), rating in zip(data.pairs.tolist(), data.ratings.tolist(), strict=True):
        if len(data.profiles[reviewer]):
            by_paper[paper].append(rating)
            by_reviewer[reviewer].append(rating)
    reasons = {}
    for name in protocol.metrics:
        if name == PAIRWISE:
            if all(len(set(ratings)) < 2 for ratings in by_reviewer.values()):
                reasons[name] = "no reviewer has two papers with different ratings"
            continue
        level, _, metric = name.partition(" ")
        threshold = dict(protocol.levels)[level]
        pools = [_Pool([int(rating >= threshold) for rating in ratings]) for ratings in by_paper.values()]
        if reason := _explain_rankings([metric], pools, "submission", "rated reviewer").get(metric):
            reasons[name] = reason
    return reasons


@explain_uninformative.register
def _(data: inputs.LabelInput, protocol: Any) -> dict[str, str]:
    count = len(data.labels)
    if not isinstance(protocol, LabelProtocol):
        reason = _explain_one_class([str(gold[0]) for gold in data.gold if len(gold) == 1], "paper")
        return dict.fromkeys(protocol.metrics, reason) if reason else {}
    reasons = {}
    for name in protocol.metrics:
        k = int(name.partition("@")[2])
        if all(min(k, len(gold)) == max(0, k - (count - len(gold))) for gold in data.gold if len(gold)):
            reasons[name] = f"the vocabulary has {count} labels, all of which are ranked or right"
    return reasons


@explain_uninformative.register
def _(data: inputs.ProbeInput, protocol: Any) -> dict[str, str]:
    reasons = {name: _explain_probe(data, name) for name in protocol.metrics}
    return {name: reason for name, reason in reasons.items() if reason}


def _explain_probe(data: inputs.ProbeInput, metric: str) -> str:
    test: list[Any] = [data.targets[row] for row in data.test]
    if data.groups is not None:
        groups = [data.groups[row] for row in data.test]
        mixed = {(group, target == data.positive) for group, target in zip(groups, test, strict=True)}
        both = any((group, True) in mixed and (group, False) in mixed for group in groups)
        return "" if both else "no group has test papers of the positive class and of another"
    if metric.partition(" ")[0] == "f1_binary":
        return _explain_one_class([str(target == data.positive) for target in test], "test paper")
    reason = _explain_one_class(test, "test paper")
    if not reason and isinstance(test[0], float):
        reason = _explain_one_class([data.targets[row] for row in data.train], "training paper")
    return reason


@explain_uninformative.register
def _(data: inputs.PairInput, protocol: Any) -> dict[str, str]:
    test: list[Any] = [data.targets[row] for row in data.test]
    if protocol.metric == "f1_binary":
        test = [target == protocol.positive for target in test]
    reason = _explain_one_class(test, "test text")
    return {protocol.metric: reason} if reason else {}


@explain_uninformative.register
def _(data: inputs.TaggingInput, protocol: Any) -> dict[str, str]:
    if any(tag != "O" for row in data.test for tag in data.tags[row]):
        return {}
    return {protocol.metric: "no word of the test texts is tagged"}


@explain_uninformative.register
def _(data: inputs.Signatures, protocol: Any) -> dict[str, str]:
    blocks = defaultdict[str, list[str]](list)
    for mention in data.signatures:
        if mention.block in data.test:
            blocks[mention.block].append(mention.author)
    if all(len(set(authors)) == 1 for authors in blocks.values()):
        reason = "no test block has mentions of two persons: to join all mentions is always right"
    elif all(len(set(authors)) == len(authors) for authors in blocks.values()):
        reason = "no test block has two mentions of one person: to join none is always right"
    else:
        return {}
    return dict.fromkeys(protocol.metrics, reason)


def _explain_rankings(metrics: Sequence[str], pools: Iterable[_Pool], query: str, candidate: str) -> dict[str, str]:
    """Return the metrics whose best and worst values are equal for each query."""
    left, widest, graded = list(metrics), 0, False
    remaining = iter(pools)
    while block := list(islice(remaining, BLOCK)):
        best, worst = (_score(left, block, sign) for sign in (1, -1))
        left = [name for name in left if np.array_equal(best[name].columns, worst[name].columns)]
        if not left:
            return {}
        widest = max(widest, *(len(pool.grades) for pool in block))
        graded = graded or any(len(set(pool.grades)) > 1 for pool in block)
    if widest < 2:
        reason = f"each {query} has one {candidate}"
    elif not graded:
        reason = f"the {candidate}s of each {query} have one grade"
    else:
        reason = f"every order of the {candidate}s of a {query} scores the same"
    return dict.fromkeys(left, reason)


def _score(metrics: Sequence[str], pools: Sequence[_Pool], sign: int) -> dict[str, Any]:
    """Return the item scores of the candidates in the order of their grades, or (sign -1) against it."""
    judged = [{str(i): grade for i, grade in enumerate((*pool.grades, *pool.absent))} for pool in pools]
    return score_rankings(
        metrics,
        [str(i) for i in range(len(pools))],
        ranked=[([str(i) for i in range(len(pool.grades))], sign * np.array(pool.grades)) for pool in pools],
        judged=judged,
    )


def _explain_one_class(targets: Sequence[Any], what: str) -> str:
    """Return why targets cannot tell systems apart: all are equal; "" if they are not."""
    return f"every {what} has the same target" if len(set(targets)) == 1 else ""

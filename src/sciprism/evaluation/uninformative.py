"""Find metrics that cannot compare systems on given data: all would get one value, or a constant scores full points.

Custom tasks report the reason in place of such a number. Published suites are scored as published.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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

    grades: Sequence[float]
    absent: Sequence[float] = ()


def explain_uninformative(data: Any, protocol: Any) -> dict[str, str]:
    """Return the metrics of a protocol that these data cannot inform, with the reason."""
    if isinstance(data, inputs.RerankInput):
        absent = data.absent or [{}] * len(data.pools)
        pools = [_Pool(g.tolist(), list(a.values())) for g, a in zip(data.grades, absent, strict=True) if len(g)]
        return _explain_rankings(protocol.metrics, pools, "candidates of a query")
    if isinstance(data, inputs.RetrievalInput):
        return _explain_rankings(protocol.metrics, _list_pools(data, protocol.metrics), "papers of a query")
    reasons = {name: _explain_metric(data, protocol, name) for name in protocol.metrics}
    return {name: reason for name, reason in reasons.items() if reason}


def _list_pools(data: inputs.RetrievalInput, metrics: Sequence[str]) -> Iterator[_Pool]:
    depth = max(parse_metric(name)[1] or DEFAULT_DEPTH for name in metrics)
    for i, (judged, grades) in enumerate(zip(data.judged, data.grades, strict=True)):
        hidden = np.zeros(0, np.int64) if data.excluded is None else data.excluded[i]
        findable = ~np.isin(judged, hidden)
        others = len(data.documents) - len(np.union1d(judged, hidden))
        if len(judged):
            yield _Pool(grades[findable].tolist() + [0] * min(others, depth), grades[~findable].tolist())


def _explain_metric(data: Any, protocol: Any, metric: str) -> str:
    """Return why a metric cannot compare systems, "" where it can."""
    if isinstance(data, inputs.MatchInput):
        return _explain_match(data, protocol, metric)
    if isinstance(data, inputs.Signatures):
        return _explain_clusters(data)
    if isinstance(data, inputs.TaggingInput):
        tagged = any(tag != "O" for row in data.test for tag in data.tags[row])
        return "" if tagged else "no word of the test texts is tagged"
    if isinstance(data, inputs.LabelInput):
        if not isinstance(protocol, LabelProtocol):
            return _explain_one_class([str(gold[0]) for gold in data.gold if len(gold) == 1], "paper")
        k, count = int(metric.partition("@")[2]), len(data.labels)
        all_right = all(min(k, len(gold)) == max(0, k - (count - len(gold))) for gold in data.gold if len(gold))
        return f"the vocabulary has {count} labels, all of which are ranked or right" if all_right else ""
    if not isinstance(data, inputs.ProbeInput | inputs.PairInput):
        return ""
    test: list[Any] = [data.targets[row] for row in data.test]
    paper, positive = ("text", protocol.positive) if isinstance(data, inputs.PairInput) else ("paper", data.positive)
    if isinstance(data, inputs.ProbeInput) and data.groups is not None:
        groups = [data.groups[row] for row in data.test]
        mixed = {(group, target == positive) for group, target in zip(groups, test, strict=True)}
        both = any((group, True) in mixed and (group, False) in mixed for group in groups)
        return "" if both else "no group has test papers of the positive class and of another"
    if metric.partition(" ")[0] == "f1_binary":
        test = [target == positive for target in test]
    reason = _explain_one_class(test, f"test {paper}")
    if not reason and isinstance(test[0], float):
        reason = _explain_one_class([data.targets[row] for row in data.train], f"training {paper}")
    return reason


def _explain_match(data: inputs.MatchInput, protocol: Any, metric: str) -> str:
    by_paper, by_reviewer = defaultdict[int, list[float]](list), defaultdict[int, list[float]](list)
    for (paper, reviewer), rating in zip(data.pairs.tolist(), data.ratings.tolist(), strict=True):
        if len(data.profiles[reviewer]):
            by_paper[paper].append(rating)
            by_reviewer[reviewer].append(rating)
    if metric == PAIRWISE:
        differ = any(len(set(ratings)) > 1 for ratings in by_reviewer.values())
        return "" if differ else "no reviewer has two papers with different ratings"
    level, _, name = metric.partition(" ")
    threshold = dict(protocol.levels)[level]
    pools = [_Pool([int(rating >= threshold) for rating in ratings]) for ratings in by_paper.values()]
    return _explain_rankings([name], pools, "rated reviewers of a submission").get(name, "")


def _explain_clusters(data: inputs.Signatures) -> str:
    blocks = defaultdict[str, list[str]](list)
    for mention in data.signatures:
        if mention.block in data.test:
            blocks[mention.block].append(mention.author)
    if all(len(set(authors)) == 1 for authors in blocks.values()):
        return "no test block has mentions of two persons: to join all mentions is always right"
    if all(len(set(authors)) == len(authors) for authors in blocks.values()):
        return "no test block has two mentions of one person: to join none is always right"
    return ""


def _explain_rankings(metrics: Sequence[str], pools: Iterable[_Pool], ranked: str) -> dict[str, str]:
    """Return the metrics whose best and worst values are equal for each query."""
    left, remaining = list(metrics), iter(pools)
    while left and (block := list(islice(remaining, BLOCK))):
        best, worst = (_score(left, block, sign) for sign in (1, -1))
        left = [name for name in left if np.array_equal(best[name].columns, worst[name].columns)]
    return dict.fromkeys(left, f"every order of the {ranked} scores the same")


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

"""Predict which recommended paper was clicked (SciDocs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.context import EvaluationContext
from sciprism.evaluation.item_scores import ItemScores, average_parts
from sciprism.evaluation.protocols.metric_names import check_metrics
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System, encode_rows
from sciprism.evaluation.task import ProtocolResult
from sciprism.metrics.clicks import click_scores
from sciprism.papers.clicks import ClickLog
from sciprism.parallel import map_threads
from sciprism.uses.click_ranking import (
    RankerSettings,
    ShownLists,
    build_shown_lists,
    score_lists,
    train_ranker,
)

METRICS = ("adj-ndcg", "adj-p@1")


@protocols.register("recommend")
@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendProtocol:
    """Train a network on clicks and rank the shown papers of test clicks, weighted by inverse propensity.

    The similarity of the papers' vectors is one of eleven features. Titles enter as the share of common words
    and not as vectors, as in SPECTER's paper. repeats: networks of other seeds, whose scores are averaged;
    SciDocs trains one, and SciRepEval omits the task as noisy. Papers without title and abstract have a zero
    vector.
    """

    net: RankerSettings = field(default_factory=RankerSettings)
    repeats: int = 5
    metrics: tuple[str, ...] = METRICS

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InputError(f"recommend: repeats is {self.repeats}; at least one net is needed")
        check_metrics("recommend", self.metrics, METRICS)

    def evaluate(self, data: ClickLog, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on train clicks, choose the epoch on dev clicks, score test clicks."""
        for name, clicks in (("train", data.train), ("dev", data.dev), ("test", data.test)):
            if not clicks:
                raise InputError(f"there is no {name} click; the task needs all three parts")
        dropped = DropReport()
        has_text = [bool(paper.title.strip() or paper.abstract.strip()) for paper in data.papers]
        for row in np.flatnonzero(~np.array(has_text, bool)).tolist():
            dropped.add("paper without text, zero vector", data.papers[row].id)
        if not any(has_text):
            raise InputError("no paper has a title or an abstract; look at the metadata file")
        papers = context.papers(data.papers)
        vectors = torch.from_numpy(encode_rows(system, papers, np.flatnonzero(has_text)))
        train, dev, test = (build_shown_lists(data, part) for part in (data.train, data.dev, data.test))
        seeds = range(context.seed, context.seed + self.repeats)
        nets = map_threads(lambda seed: train_ranker(train, dev, vectors, data.propensities, self.net, seed), seeds)
        scored = [_item_scores(data, test, score_lists(net, test, vectors)) for net, _, _ in nets]
        item_scores = {name: average_parts([one[name] for one in scored]) for name in self.metrics}
        details = {
            "clicks": {"train": len(data.train), "dev": len(data.dev), "test": len(data.test)},
            "papers": len(data.papers),
            "weighting": self.net.weighting,
            "epochs": [epoch for _, epoch, _ in nets],
        }
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)


def _item_scores(data: ClickLog, lists: ShownLists, scores: Sequence[NDArray[np.float64]]) -> dict[str, ItemScores]:
    found = click_scores(scores, lists.clicked.tolist(), data.propensities)
    ids = tuple(f"{number}:{data.papers[click.paper].id}" for number, click in enumerate(data.test))
    return {
        name: ItemScores(ids, np.stack([value * found.weights, found.weights], axis=1), "weighted-mean")
        for name, value in zip(METRICS, (found.gain, found.first), strict=True)
    }

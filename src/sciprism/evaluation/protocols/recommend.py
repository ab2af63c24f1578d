"""Predict which recommended paper was clicked (SciDocs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.cores import on_all_cores
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence, mean_of
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.metrics.clicks import click_scores
from sciprism.papers.clicks import Clicks
from sciprism.uses.recommendation import Lists, NetSettings, describe_lists, score_lists, train_net

METRICS = ("adj-ndcg", "adj-p@1")


@protocols.register("recommend")
@dataclass(frozen=True, slots=True, kw_only=True)
class Recommend:
    """Train a net on clicks and rank the shown papers of test clicks; rare looks at a place weigh more.

    The papers' vectors are one of its eleven numbers. Titles enter as the share of common words; SPECTER's
    paper speaks of such numbers only, so no title vectors do. repeats: nets of other seeds whose scores are
    averaged; SciDocs trains one, and SciRepEval leaves the task out as noisy.
    Papers without title and abstract have a zero vector.
    """

    net: NetSettings = field(default_factory=NetSettings)
    repeats: int = 5
    metrics: tuple[str, ...] = METRICS

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InputError(f"recommend: repeats is {self.repeats}; at least one net is needed")
        unknown = [name for name in self.metrics if name not in METRICS]
        if unknown or not self.metrics:
            raise InputError(f"recommend: unknown metric {', '.join(unknown)!r}; known: {', '.join(METRICS)}")

    def evaluate(self, data: Clicks, system: System, view: View) -> Outcome:
        """Train on train clicks, choose the epoch on dev clicks, score test clicks."""
        for name, clicks in (("train", data.train), ("dev", data.dev), ("test", data.test)):
            if not clicks:
                raise InputError(f"there is no {name} click; the task needs all three parts")
        tally = DropReport()
        vectors = _vectors(data, system, view, tally)
        train, dev, test = (describe_lists(data, part) for part in (data.train, data.dev, data.test))
        seeds = range(view.seed, view.seed + self.repeats)
        nets = on_all_cores(
            lambda seed: train_net(train, dev, vectors, data.propensities, self.net, seed), seeds
        )
        scored = [_evidence(data, test, score_lists(net, test, vectors)) for net, _, _ in nets]
        evidence = {name: mean_of([one[name] for one in scored]) for name in self.metrics}
        details = {
            "clicks": {"train": len(data.train), "dev": len(data.dev), "test": len(data.test)},
            "papers": len(data.papers),
            "weighting": self.net.weighting,
            "epochs": [epoch for _, epoch, _ in nets],
        }
        return Outcome(evidence=evidence, details=details, tally=tally)


def _vectors(data: Clicks, system: System, view: View, tally: DropReport) -> Tensor:
    """Return one vector per paper, zero where there is no text. (papers, d)."""
    filled = [row for row, paper in enumerate(data.papers) if paper.title.strip() or paper.abstract.strip()]
    for row in sorted(set(range(len(data.papers))) - set(filled)):
        tally.add("paper without text, zero vector", data.papers[row].id)
    if not filled:
        raise InputError("no paper has a title or an abstract; look at the metadata file")
    found = system.vectors(view.papers([data.papers[row] for row in filled]))
    vectors = np.zeros((len(data.papers), found.shape[1]), np.float32)
    vectors[filled] = found
    return torch.from_numpy(vectors)


def _evidence(data: Clicks, lists: Lists, scores: Sequence[NDArray[np.float64]]) -> dict[str, Evidence]:
    found = click_scores(scores, lists.clicked.tolist(), data.propensities)
    ids = tuple(f"{number}:{data.papers[click.paper].id}" for number, click in enumerate(data.test))
    return {
        name: Evidence(ids, np.stack([value * found.weights, found.weights], axis=1), "weighted-mean")
        for name, value in zip(METRICS, (found.gain, found.first), strict=True)
    }

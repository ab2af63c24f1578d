"""Predict which recommended paper was clicked: a small network ranks the shown papers by eleven features (SciDocs)."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Click, ClickLog
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, average_parts
from sciprism.evaluation.systems import System, encode_rows
from sciprism.evaluation.task import EvaluationContext, Positive, ProtocolResult, check_metrics, protocols
from sciprism.metrics.rankings import click_scores
from sciprism.papers.records import Paper
from sciprism.parallel import map_threads

METRICS = ("adj-ndcg", "adj-p@1")
FEATURES = 11
COSINE = 3  # column of the vectors' cosine among the features
MAX_NEGATIVES = 5
NOW, SPAN = 2020.0, 20.0  # years, as in SciDocs
BATCH = 64
EPOCHS = 50
PATIENCE = 5  # epochs without a lower dev loss
_WORD = re.compile(r"\w+|[^\w\s]")


HIDDEN, MARGIN, LEARNING_RATE = 32, 1.0, 1e-3  # of the network, whose form alone the published files state


@protocols.register("recommend")
@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendProtocol:
    """Train a network on clicks and rank the shown papers of test clicks, weighted by inverse propensity.

    The similarity of the papers' vectors is one of eleven features. Titles enter as the share of common words
    and not as vectors, as in SPECTER's paper. repeats: networks of other seeds, whose scores are averaged;
    SciDocs trains one, and SciRepEval omits the task as noisy. Papers without title and abstract have a zero
    vector.
    """

    _NET: ClassVar = {"hidden": 32, "margin": 1.0, "learning_rate": 1e-3, "project": False, "weighting": "as coded"}
    FORMER: ClassVar = {"net": {"": "RankerSettings", **_NET}}
    repeats: Positive = 5
    metrics: tuple[str, ...] = METRICS

    def __post_init__(self) -> None:
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
        nets = map_threads(lambda seed: train_ranker(train, dev, vectors, data.propensities, seed), seeds)
        with torch.inference_mode():
            shown = [_scores(net, test, vectors, np.arange(len(test.features))).numpy() for net, _, _ in nets]
        scored = [_item_scores(data, test, np.split(each.astype(np.float64), test.starts[1:-1])) for each in shown]
        item_scores = {name: average_parts([one[name] for one in scored]) for name in self.metrics}
        details = {
            "clicks": {"train": len(data.train), "dev": len(data.dev), "test": len(data.test)},
            "papers": len(data.papers),
            "weighting": "as coded",  # the weights of clicks are those that the published code computes
            "epochs": [epoch for _, epoch, _ in nets],
        }
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)


def _item_scores(data: ClickLog, lists: ShownLists, scores: Sequence[NDArray[np.float64]]) -> dict[str, ItemScores]:
    gain, first, weights = click_scores(scores, lists.clicked.tolist(), data.propensities)
    ids = tuple(f"{number}:{data.papers[click.paper].id}" for number, click in enumerate(data.test))
    return {
        name: ItemScores(ids, np.stack([value * weights, weights], axis=1), "weighted-mean")
        for name, value in zip(METRICS, (gain, first), strict=True)
    }


@dataclass(frozen=True, slots=True)
class ShownLists:
    """The lists of shown papers of some clicks, concatenated.

    features: (n, 11), the cosine's column empty. papers: (n, 2) rows of the query paper and the shown one.
    starts: (clicks + 1,) where each list begins. clicked: (clicks,) the clicked papers' positions.
    """

    features: NDArray[np.float32]
    papers: Rows
    starts: Rows
    clicked: Rows

    def pairs(self) -> Rows:
        """Return the row of the clicked paper and that of a negative, (n, 2): the first five others as shown."""
        pairs: list[tuple[int, int]] = []
        for place, (start, end) in zip(self.clicked.tolist(), pairwise(self.starts.tolist()), strict=True):
            others = [row for row in range(start, end) if row != start + place]
            pairs += [(start + place, row) for row in others[:MAX_NEGATIVES]]
        return np.array(pairs, np.int64).reshape(-1, 2)


class ClickRanker(nn.Module):
    """Scores papers by eleven features."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.layers = nn.Sequential(
            _build_linear(FEATURES, HIDDEN, generator), nn.ReLU(), _build_linear(HIDDEN, 1, generator)
        )

    def forward(self, features: Tensor, queries: Tensor, shown: Tensor) -> Tensor:
        """Return one score per row: features (n, 11), vectors (n, d), (n, d) -> (n,)."""
        cosine = F.cosine_similarity(queries, shown, dim=1)
        complete = torch.cat([features[:, :COSINE], cosine[:, None], features[:, COSINE + 1 :]], dim=1)
        scores: Tensor = self.layers(complete).squeeze(1)
        return scores


def build_shown_lists(data: ClickLog, clicks: Sequence[Click]) -> ShownLists:
    """Return the features of every shown paper of some clicks."""
    papers = [(click.paper, row) for click in clicks for row in click.shown.tolist()]
    rows = {click.paper for click in clicks} | {row for _, row in papers}
    words = {row: frozenset(_WORD.findall(data.papers[row].title)) for row in rows}
    features = [_compute_features(data, query, row, _jaccard(words[query], words[row])) for query, row in papers]
    return ShownLists(
        np.array(features, np.float32).reshape(-1, FEATURES),
        np.array(papers, np.int64).reshape(-1, 2),
        np.cumsum([0, *(len(click.shown) for click in clicks)], dtype=np.int64),
        np.array([click.shown.tolist().index(click.clicked) for click in clicks], np.int64),
    )


def train_ranker(
    train: ShownLists, dev: ShownLists, vectors: Tensor, propensities: NDArray[np.float64], seed: int
) -> tuple[ClickRanker, int, float]:
    """Return the network of the epoch with the lowest dev loss, that epoch (from 1) and its loss.

    A click's loss is meant to be weighted by 1 / propensity of its position, propensities scaled to mean 1. SciDocs as
    coded overwrites the position, so every click has the weight of the last one.
    """
    net = ClickRanker(seed)
    shuffle = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)
    weight = float(np.float32(1.0 / (propensities / propensities.mean())[-1]))
    pairs = train.pairs()
    best, best_epoch, best_state = math.inf, 0, copy.deepcopy(net.state_dict())
    for epoch in range(1, EPOCHS + 1):
        order = shuffle.permutation(len(pairs))
        for start in range(0, len(order), BATCH):
            loss = _loss(net, train, vectors, pairs[order[start : start + BATCH]], weight)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.inference_mode():
            dev_loss = float(_loss(net, dev, vectors, dev.pairs(), weight))
        if dev_loss < best:
            best, best_epoch, best_state = dev_loss, epoch, copy.deepcopy(net.state_dict())
        elif epoch - best_epoch >= PATIENCE:
            break
    net.load_state_dict(best_state)
    return net, best_epoch, best


def _build_linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """Return a layer initialized from a generator of its own: networks are trained in parallel."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)  # type: ignore[no-untyped-call]
    for weights in layer.parameters():
        nn.init.uniform_(weights, -(inputs**-0.5), inputs**-0.5, generator=generator)
    return cast(nn.Linear, layer)


def _loss(net: ClickRanker, lists: ShownLists, vectors: Tensor, pairs: Rows, weight: float) -> Tensor:
    better, worse = (_scores(net, lists, vectors, rows) for rows in pairs.T)
    losses = F.margin_ranking_loss(better, worse, torch.ones_like(better), MARGIN, reduction="none")
    return (losses * weight).mean()


def _scores(net: ClickRanker, lists: ShownLists, vectors: Tensor, rows: Rows) -> Tensor:
    queries, shown = torch.from_numpy(lists.papers[rows]).T
    scores: Tensor = net(torch.from_numpy(lists.features[rows]), vectors[queries], vectors[shown])
    return scores


def _compute_features(data: ClickLog, query: int, shown: int, titles: float) -> tuple[float, ...]:
    """Return the eleven features in SciDocs' order; position and cosine are 0.

    The position is 0 as in the published code: at test time it would reveal where people click.
    """
    q, c = data.papers[query], data.papers[shown]
    cited_q, cited_c = data.cited_by[query], data.cited_by[shown]
    return (
        _jaccard(frozenset(q.authors), frozenset(c.authors)),
        0.0,
        titles,
        0.0,
        _jaccard(cited_q, cited_c),
        _jaccard(frozenset(q.references), frozenset(c.references)),
        float(q.id in c.references or c.id in cited_q),
        float(c.id in q.references or q.id in cited_c),
        _scaled_age(NOW, c),
        _scaled_age(None if q.year is None else float(q.year), c),
        math.log(1 + len(cited_c)) / 10,
    )


def _jaccard(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _scaled_age(year: float | None, paper: Paper) -> float:
    """Return a paper's age in a year, in units of 20 years, clipped to -1..1; 0 if a year is missing."""
    if year is None or paper.year is None:
        return 0.0
    return max(-1.0, min(1.0, (year - paper.year) / SPAN))

"""A small net that ranks recommended papers by eleven numbers, trained on clicks (SciDocs)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.arrays import Rows
from sciprism.papers.clicks import Click, Clicks
from sciprism.papers.records import Paper

Weighting = Literal["as coded", "propensity"]
Numbers = NDArray[np.float32]
NUMBERS = 11
COSINE = 3
"""Place of the vectors' cosine among the numbers."""
NEGATIVES = 5
NOW, SPAN = 2020.0, 20.0  # years; SciDocs' own
BATCH = 64
EPOCHS = 50
PATIENCE = 5  # epochs without a lower loss on dev
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of shown papers of some clicks, laid end to end.

    numbers: (n, 11), the cosine's column empty. papers: (n, 2) rows of the paper read and the one shown.
    starts: (clicks + 1,) where each list begins. clicked: (clicks,) place of the clicked paper in its list.
    """

    numbers: Numbers
    papers: Rows
    starts: Rows
    clicked: Rows

    def triplets(self) -> tuple[Rows, Rows, Rows]:
        """Return click, row of the clicked paper and row of another: the first five others as shown."""
        found = [
            (click, start + place, row)
            for click, (start, end, place) in enumerate(
                zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), self.clicked.tolist(), strict=True)
            )
            for row in [row for row in range(start, end) if row != start + place][:NEGATIVES]
        ]
        click, positive, negative = np.array(found, np.int64).reshape(-1, 3).T
        return click, positive, negative


@dataclass(frozen=True, slots=True, kw_only=True)
class NetSettings:
    """How the net is built and trained; the published files name the form, not these values."""

    hidden: int = 32
    margin: float = 1.0
    learning_rate: float = 1e-3
    project: bool = False
    weighting: Weighting = "as coded"


class ClickNet(nn.Module):
    """Score lists by their eleven numbers; `project` turns the vector of the paper read by a learned map."""

    def __init__(self, dim: int, settings: NetSettings, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.projection = _linear(dim, dim, draw) if settings.project else None
        if self.projection is not None:  # begin where nothing is projected
            nn.init.eye_(self.projection.weight)
            nn.init.zeros_(self.projection.bias)
        self.layers = nn.Sequential(
            _linear(NUMBERS, settings.hidden, draw), nn.ReLU(), _linear(settings.hidden, 1, draw)
        )

    def forward(self, numbers: Tensor, read: Tensor, shown: Tensor) -> Tensor:
        """Return one score each: (n, 11), (n, d), (n, d) -> (n,)."""
        turned = read if self.projection is None else self.projection(read)
        cosine = F.cosine_similarity(turned, shown, dim=1)
        filled = torch.cat([numbers[:, :COSINE], cosine[:, None], numbers[:, COSINE + 1 :]], dim=1)
        scores: Tensor = self.layers(filled).squeeze(1)
        return scores


def describe_lists(data: Clicks, clicks: Sequence[Click]) -> Lists:
    """Return the numbers of every shown paper of some clicks."""
    words = {row: frozenset(_WORD.findall(data.papers[row].title)) for row in _rows_of(clicks)}
    numbers, papers, starts = [], [], [0]
    for click in clicks:
        for row in click.shown.tolist():
            papers.append((click.paper, row))
            numbers.append(_numbers(data, click.paper, row, _jaccard(words[click.paper], words[row])))
        starts.append(len(papers))
    clicked = [click.shown.tolist().index(click.clicked) for click in clicks]
    return Lists(
        np.array(numbers, np.float32).reshape(-1, NUMBERS),
        np.array(papers, np.int64).reshape(-1, 2),
        np.array(starts, np.int64),
        np.array(clicked, np.int64),
    )


def loss_weights(clicked: Rows, propensities: NDArray[np.float64], weighting: Weighting) -> Numbers:
    """Return what each click's loss is multiplied by: 1 / propensity of its place, scaled to mean 1.

    SciDocs as coded overwrites the place, and every click is weighted by the last propensity.
    """
    scaled = propensities / propensities.mean()
    places = np.full(len(clicked), -1) if weighting == "as coded" else clicked
    weights: Numbers = (1.0 / scaled[places]).astype(np.float32)
    return weights


def train_net(
    train: Lists,
    dev: Lists,
    vectors: Tensor,
    propensities: NDArray[np.float64],
    settings: NetSettings,
    seed: int,
) -> tuple[ClickNet, int, float]:
    """Return the net of the epoch with the lowest loss on dev, that epoch (from 1) and its loss."""
    net = ClickNet(vectors.shape[1], settings, seed)
    shuffle = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=settings.learning_rate)
    weights = [loss_weights(part.clicked, propensities, settings.weighting) for part in (train, dev)]
    click, positive, negative = train.triplets()
    best, best_epoch, kept = math.inf, 0, {key: value.clone() for key, value in net.state_dict().items()}
    for epoch in range(1, EPOCHS + 1):
        order = shuffle.permutation(len(click))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = click[rows], positive[rows], negative[rows]
            loss = _loss(net, train, vectors, weights[0], batch, settings.margin)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.inference_mode():
            found = float(_loss(net, dev, vectors, weights[1], dev.triplets(), settings.margin))
        if found < best:
            best, best_epoch = found, epoch
            kept = {key: value.clone() for key, value in net.state_dict().items()}
        elif epoch - best_epoch >= PATIENCE:
            break
    net.load_state_dict(kept)
    return net, best_epoch, best


def score_lists(net: ClickNet, lists: Lists, vectors: Tensor) -> list[NDArray[np.float64]]:
    """Return the scores of each click's shown papers, in the order of display."""
    with torch.inference_mode():
        scores = _scores(net, lists, vectors, np.arange(len(lists.numbers))).numpy().astype(np.float64)
    return np.split(scores, lists.starts[1:-1])


def _linear(inputs: int, outputs: int, draw: torch.Generator) -> nn.Linear:
    """Return a layer whose weights come from one generator: nets are trained side by side."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)  # type: ignore[no-untyped-call]
    for weights in layer.parameters():
        nn.init.uniform_(weights, -(inputs**-0.5), inputs**-0.5, generator=draw)
    return cast(nn.Linear, layer)


def _loss(
    net: ClickNet,
    lists: Lists,
    vectors: Tensor,
    weights: Numbers,
    batch: tuple[Rows, Rows, Rows],
    margin: float,
) -> Tensor:
    click, positive, negative = batch
    better, worse = (_scores(net, lists, vectors, rows) for rows in (positive, negative))
    losses = F.margin_ranking_loss(better, worse, torch.ones_like(better), margin, reduction="none")
    return (losses * torch.from_numpy(weights[click])).mean()


def _scores(net: ClickNet, lists: Lists, vectors: Tensor, rows: Rows) -> Tensor:
    read, shown = torch.from_numpy(lists.papers[rows]).T
    scores: Tensor = net(torch.from_numpy(lists.numbers[rows]), vectors[read], vectors[shown])
    return scores


def _numbers(data: Clicks, query: int, shown: int, titles: float) -> tuple[float, ...]:
    """Return the eleven numbers in SciDocs' order; position and cosine are 0.

    The position stays 0 as in the published code: known at test time it would tell where people click.
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
        _clipped(NOW, c),
        _clipped(None if q.year is None else float(q.year), c),
        math.log(1 + len(cited_c)) / 10,
    )


def _jaccard(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _clipped(year: float | None, paper: Paper) -> float:
    """Return how old a paper is in a year, in spans of 20 years from -1 to 1; 0 where a year is missing."""
    if year is None or paper.year is None:
        return 0.0
    return max(-1.0, min(1.0, (year - paper.year) / SPAN))


def _rows_of(clicks: Sequence[Click]) -> set[int]:
    return {row for click in clicks for row in (click.paper, *click.shown.tolist())}

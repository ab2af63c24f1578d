"""Linear heads over the vectors: classes, several labels, numbers (SciRepEval, section 4).

A head is trained with the encoder and dropped with the run: only the vectors are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.dropout import Dropout
from sciprism.encoders.starts import started
from sciprism.errors import InputError
from sciprism.metrics.numbers import kendall_tau
from sciprism.objectives.classification import classification, multi_label
from sciprism.objectives.regression import regression
from sciprism.objectives.supervised_contrastive import supervised_contrastive
from sciprism.training.batch import Batch
from sciprism.training.examples import Example
from sciprism.training.learners.learner import Asked, Learner, Tools
from sciprism.training.learners.registry import learners
from sciprism.training.tables import Table

MOMENTUM = 0.05


class HeadSettings(Table):
    """dropout: of the vectors in front of the head, while it is trained. scale: what they are multiplied by.

    From vectors of length 1 a new head says next to nothing, and learns slowly: 20 makes up for it, or
    `standardise`: each direction less its running mean, over its running deviation, in front of all else;
    so then are the numbers that it learns.
    """

    dropout: float = Field(0.2, ge=0, lt=1)
    scale: float = Field(1.0, gt=0)
    standardise: bool = False


class ClassificationSettings(HeadSettings):
    """contrastive: the share of the supervised contrastive loss (SciRepEval's option: 0.9)."""

    name: Literal["classification"]
    contrastive: float = Field(0.0, ge=0, le=1)
    temperature: float = Field(0.3, gt=0)


class MultiLabelSettings(HeadSettings):
    """Nothing besides what all heads have."""

    name: Literal["multi-label"]


class RegressionSettings(HeadSettings):
    """Nothing besides what all heads have."""

    name: Literal["regression"]


class Standardised(nn.Module):
    """Vectors (n, D) less their running mean, over their running deviation, each direction by itself.

    What a direction's mean and deviation are is learnt while training, the first batches counting alike; by
    each of several processes from its own part, as usual for norms of batches.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.square: Tensor
        self.seen: Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("square", torch.ones(dim))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors of the same shape."""
        if self.training:
            with torch.no_grad():
                self.seen += 1
                share = max(MOMENTUM, 1 / float(self.seen))
                self.mean.lerp_(vectors.mean(dim=0), share)
                self.square.lerp_((vectors - self.mean).square().mean(dim=0), share)
        return (vectors - self.mean) / (self.square + torch.finfo(torch.float32).eps).sqrt()


class Head(Learner):
    """A linear map of the queries' vectors; what the candidates are does not matter."""

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        head = started(nn.Linear(tools.encoder.dim, self.width)).to(tools.encoder.device)
        self.even = self._even(tools.encoder.dim)
        self.before = Dropout(objective.dropout)
        self.head = head
        self.modules: nn.Module = nn.ModuleList([self.even, self.before, head])
        self.places = {label: place for place, label in enumerate(tools.labels)}

    @property
    def width(self) -> int:
        """Return how many numbers the head gives."""
        if not self.tools.labels:
            raise InputError(f"{self.objective.name}: the source names no labels")
        return len(self.tools.labels)

    def asks(self, batch: Batch) -> list[Asked]:
        """Return the papers."""
        return [([example.query for example in batch.examples], batch.query)]

    def said(self, vectors: Tensor) -> Tensor:
        """Map vectors (n, D) to what the head says, (n, width)."""
        return self.head(self.before(self.even(vectors) * self.objective.scale))  # type: ignore[no-any-return]

    def _even(self, dim: int) -> nn.Module:
        made = Standardised(dim) if self.objective.standardise else nn.Identity()
        return made.to(self.tools.encoder.device)

    def outputs(self, batch: Batch) -> Tensor:
        """Return what the head says of held-out examples, (n, width)."""
        items = [example.query for example in batch.examples]
        vectors = self.tools.encoder.encode(items, format=batch.format, role=batch.query)
        self.modules.eval()
        with torch.inference_mode():
            found = self.said(torch.from_numpy(vectors).to(self.tools.encoder.device)).cpu()
        self.modules.train()
        return found

    def score(self, batch: Batch) -> float:
        """Return the share of examples whose best label is right; labels unknown in training are wrong."""
        best = self.outputs(batch).argmax(dim=1).tolist()
        right = [self.tools.labels[b] in e.answers for b, e in zip(best, batch.examples, strict=True)]
        return float(np.mean(right))


@learners.register("classification")
class Classification(Head):
    """One label of each paper, by cross-entropy."""

    settings = ClassificationSettings
    wants: ClassVar[str] = "one label as its answer"

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether there is one label."""
        return len(example.answers) == 1 and isinstance(example.answers[0], str)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        labels = torch.tensor([self.places[str(e.answers[0])] for e in batch.examples], device=papers.device)
        settings = self.objective
        mean = classification(self.said(papers), labels)
        if settings.contrastive:
            alike = supervised_contrastive(papers, labels, temperature=settings.temperature)
            mean = (1 - settings.contrastive) * mean + settings.contrastive * alike
        return mean


@learners.register("multi-label")
class MultiLabel(Head):
    """Any labels of each paper, by binary cross-entropy."""

    settings = MultiLabelSettings
    wants: ClassVar[str] = "labels as its answers"

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether there are labels."""
        return bool(example.answers) and all(isinstance(answer, str) for answer in example.answers)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        labels = torch.zeros(len(papers), self.width)
        for row, example in zip(labels, batch.examples, strict=True):
            row[[self.places[str(answer)] for answer in example.answers]] = 1
        return multi_label(self.said(papers), labels.to(papers.device))


@learners.register("regression")
class Regression(Head):
    """A number of each paper, by squared error; of standardised vectors, a standardised number."""

    settings = RegressionSettings
    wants: ClassVar[str] = "a number as its answer"

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.numbers = self._even(1)
        self.modules = nn.ModuleList([self.modules, self.numbers])

    @property
    def width(self) -> int:
        """Return one."""
        return 1

    @staticmethod
    def fits(example: Example) -> bool:
        """Say whether there is one number."""
        return len(example.answers) == 1 and not isinstance(example.answers[0], str)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        numbers = torch.tensor([[float(e.answers[0])] for e in batch.examples], device=papers.device)
        return regression(self.said(papers).squeeze(1), self.numbers(numbers).squeeze(1))

    def score(self, batch: Batch) -> float:
        """Return Kendall's tau between what the head says and the numbers, 0 where it says one number."""
        tau = kendall_tau([float(e.answers[0]) for e in batch.examples], self.outputs(batch)[:, 0].numpy())
        return 0.0 if np.isnan(tau) else tau

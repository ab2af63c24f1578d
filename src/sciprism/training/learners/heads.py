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
from sciprism.training.examples import Example
from sciprism.training.learners import Asked, Batch, Learner, Tools, learners
from sciprism.training.tables import Table


class HeadSettings(Table):
    """dropout: of the vectors in front of the head, while it is trained. scale: what they are multiplied by.

    From vectors of length 1 a new head says next to nothing, and learns slowly: 20 makes up for it.
    """

    dropout: float = Field(0.2, ge=0, lt=1)
    scale: float = Field(1.0, gt=0)


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


class Head(Learner):
    """A linear map of the queries' vectors; what the candidates are does not matter."""

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        head = started(nn.Linear(tools.encoder.dim, self.width)).to(tools.encoder.device)
        self.modules: nn.Module = nn.Sequential(Dropout(objective.dropout), head)
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
        return self.modules(vectors * self.objective.scale)  # type: ignore[no-any-return]

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
    """A number of each paper, by squared error."""

    settings = RegressionSettings
    wants: ClassVar[str] = "a number as its answer"

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
        numbers = torch.tensor([float(e.answers[0]) for e in batch.examples], device=papers.device)
        return regression(self.said(papers).squeeze(1), numbers)

    def score(self, batch: Batch) -> float:
        """Return Kendall's tau between what the head says and the numbers, 0 where it says one number."""
        tau = kendall_tau([float(e.answers[0]) for e in batch.examples], self.outputs(batch)[:, 0].numpy())
        return 0.0 if np.isnan(tau) else tau

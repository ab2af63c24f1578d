"""Linear heads over the vectors: classification, multi-label classification, regression (SciRepEval, 4).

A head is trained with the encoder and dropped after training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.layers import Dropout, copy_integers, copy_tensor, initialize_weights
from sciprism.encoders.methods.registry import NamedTable
from sciprism.errors import InputError
from sciprism.metrics.predictions import kendall_tau
from sciprism.objectives.contrastive import supervised_contrastive
from sciprism.objectives.heads import classification, multi_label, regression
from sciprism.training.batches import Batch
from sciprism.training.examples import Example
from sciprism.training.learners.learner import Learner, LearnerContext, TextGroup, learners

MOMENTUM = 0.05


class HeadSettings(NamedTable):
    """Settings of all heads."""

    dropout: float = Field(0.2, ge=0, lt=1, description="Rate of dropout of the head's input.")
    scale: float = Field(1.0, gt=0, description="Factor of the vectors.")
    standardize: bool = Field(
        False, description="Each dimension, and a regression's numbers, to mean 0 and variance 1."
    )


class ClassificationSettings(HeadSettings):
    """Settings of a classification head."""

    contrastive_weight: float = Field(
        0.0, ge=0, le=1, description="Weight of a supervised contrastive loss (SciRepEval: 0.9)."
    )
    temperature: float = Field(0.3, gt=0, description="Of the supervised contrastive loss.")


class RunningStandardizer(nn.Module):
    """Vectors (n, D) to mean 0 and variance 1 in each dimension, by running statistics.

    The first batches have equal weights, later ones `MOMENTUM`. Each process uses its own part of the batch,
    as usual for batch norms.
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
                momentum = max(MOMENTUM, 1 / float(self.seen))
                self.mean.lerp_(vectors.mean(dim=0), momentum)
                self.square.lerp_((vectors - self.mean).square().mean(dim=0), momentum)
        return (vectors - self.mean) / (self.square + torch.finfo(torch.float32).eps).sqrt()


class HeadLearner(Learner):
    """A linear map of the queries' vectors; candidates are ignored."""

    settings: ClassVar[type[NamedTable]] = HeadSettings
    metric: ClassVar[str] = "accuracy"
    by_vectors: ClassVar[bool] = False

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.head = initialize_weights(nn.Linear(context.encoder.dim, self.width)).to(context.encoder.device)
        self.standardizer = self._build_standardizer(context.encoder.dim)
        self.dropout = Dropout(objective.dropout)
        self.modules = nn.ModuleList([self.standardizer, self.dropout, self.head])
        self.columns = {label: column for column, label in enumerate(context.labels)}

    @property
    def width(self) -> int:
        """Return the number of outputs."""
        if not self.context.labels:
            raise InputError(f"{self.objective.name}: the source names no labels")
        return len(self.context.labels)

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return the papers."""
        return [([example.query for example in batch.examples], batch.query)]

    def predict(self, vectors: Tensor) -> Tensor:
        """Map vectors (n, D) to outputs (n, width)."""
        scaled = self.standardizer(vectors) * self.objective.scale
        return self.head(self.dropout(scaled))  # type: ignore[no-any-return]

    def _build_standardizer(self, dim: int) -> nn.Module:
        module = RunningStandardizer(dim) if self.objective.standardize else nn.Identity()
        return module.to(self.context.encoder.device)

    def outputs(self, batch: Batch) -> Tensor:
        """Return the outputs of held-out examples, (n, width)."""
        ((items, role),) = self.select_texts(batch)
        vectors = self.context.encoder.encode(items, format=batch.format, role=role)
        self.modules.eval()
        with torch.inference_mode():
            outputs = self.predict(torch.from_numpy(vectors).to(self.context.encoder.device)).cpu()
        self.modules.train()
        return outputs

    def score(self, batch: Batch) -> float:
        """Return the accuracy; labels unknown in training are wrong."""
        best = self.outputs(batch).argmax(dim=1).tolist()
        right = [self.context.labels[b] in e.answers for b, e in zip(best, batch.examples, strict=True)]
        return float(np.mean(right))


@learners.register("classification")
class ClassificationLearner(HeadLearner):
    """One label of each paper, by cross-entropy."""

    settings = ClassificationSettings
    requires: ClassVar[str] = "one label as its answer"

    @staticmethod
    def fits(example: Example) -> bool:
        """Return whether the example has one label."""
        return len(example.answers) == 1 and isinstance(example.answers[0], str)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        labels = copy_integers([self.columns[str(e.answers[0])] for e in batch.examples], papers.device)
        mean, weight = classification(self.predict(papers), labels), self.objective.contrastive_weight
        if weight:
            contrast = supervised_contrastive(papers, labels, temperature=self.objective.temperature)
            mean = (1 - weight) * mean + weight * contrast
        return mean


@learners.register("multi-label")
class MultiLabelLearner(HeadLearner):
    """Any labels of each paper, by binary cross-entropy."""

    requires: ClassVar[str] = "labels as its answers"

    @staticmethod
    def fits(example: Example) -> bool:
        """Return whether the example has labels."""
        return bool(example.answers) and all(isinstance(answer, str) for answer in example.answers)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        labels = torch.zeros(len(papers), self.width)
        for row, example in zip(labels, batch.examples, strict=True):
            row[[self.columns[str(answer)] for answer in example.answers]] = 1
        return multi_label(self.predict(papers), labels.to(papers.device))


@learners.register("regression")
class RegressionLearner(HeadLearner):
    """A number of each paper, by squared error."""

    requires: ClassVar[str] = "a number as its answer"
    metric: ClassVar[str] = "Kendall's tau"

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.target_standardizer = self._build_standardizer(1)
        self.modules = nn.ModuleList([self.modules, self.target_standardizer])

    @property
    def width(self) -> int:
        """Return one."""
        return 1

    @staticmethod
    def fits(example: Example) -> bool:
        """Return whether the example has one number."""
        return len(example.answers) == 1 and not isinstance(example.answers[0], str)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean. vectors: of the papers (B, D)."""
        (papers,) = vectors
        numbers = copy_tensor(torch.tensor([[float(e.answers[0])] for e in batch.examples]), papers.device)
        return regression(self.predict(papers).squeeze(1), self.target_standardizer(numbers).squeeze(1))

    def score(self, batch: Batch) -> float:
        """Return Kendall's tau of outputs and numbers, 0 where all outputs are equal."""
        tau = kendall_tau([float(e.answers[0]) for e in batch.examples], self.outputs(batch)[:, 0].numpy())
        return 0.0 if np.isnan(tau) else tau

"""Fine-tune on texts or pairs of texts: a relation, yes or no, a class, several labels, a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import PairInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, score_classes, score_label_sets, score_numbers, score_outcomes
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult, protocols
from sciprism.evaluation.tuning.examples import TuningExample, WindowTokenizer
from sciprism.evaluation.tuning.grid_search import Predictions, TuningProblem, fine_tune
from sciprism.evaluation.tuning.runs import Outputs, Tuning, class_loss, label_loss, regression_loss

Metric = Literal["f1_micro", "f1_macro", "f1_binary", "accuracy", "pearson"]
TargetKind = Literal["class", "labels", "number"]
TRUNCATED = "text longer than the model, its end not read"
UNSEEN = "text of a class that no training text has"


@protocols.register("pair")
@dataclass(frozen=True, slots=True, kw_only=True)
class PairProtocol:
    """Fine-tune with a linear map on the first token (BLURB's sequence tasks).

    A text has one segment or two. Losses: cross-entropy for classes, binary cross-entropy for several labels
    (predicted where p > 0.5), squared error for numbers; a constant prediction of numbers scores 0. negative:
    the class that micro F1 excludes, as in relation extraction; positive: the class of "f1_binary". length:
    tokens that are read, the longer segment truncated first.
    """

    metric: Metric = "accuracy"
    negative: str = ""
    positive: str = ""
    length: int = 256
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if (self.metric == "f1_binary") != bool(self.positive):
            raise InputError(f"pair: {self.metric} and the positive class {self.positive!r} do not go together")
        if self.negative and self.metric != "f1_micro":
            raise InputError(f"pair: {self.metric} excludes no class; remove negative = {self.negative!r}")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric."""
        return (self.metric,)

    def evaluate(self, data: PairInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on the training rows, score the test rows."""
        return fine_tune(data, system, context, self, _TextProblem)


class _TextProblem(TuningProblem[PairInput, PairProtocol]):
    def __init__(self, data: PairInput, tokenizer: WindowTokenizer, protocol: PairProtocol) -> None:
        super().__init__(data, tokenizer, protocol)
        first = data.targets[0]
        self.kind: TargetKind = (
            "class" if isinstance(first, str) else "labels" if isinstance(first, tuple) else "number"
        )
        if (self.kind == "number") != (protocol.metric == "pearson"):
            raise InputError(f"pair: the metric {protocol.metric} does not go with targets of the kind {self.kind}")
        self.names = self._names()
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.width = max(1, len(self.names))

    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        targets: list[Any] = [example.targets[0] for example in examples]
        by_kind = {"class": class_loss, "labels": label_loss, "number": regression_loss}
        return by_kind[self.kind](outputs, targets)  # type: ignore[no-any-return, operator]

    def row_examples(self, row: int) -> list[TuningExample]:
        window, truncated = self.tokenizer.truncate(self.data.texts[row])
        if truncated:
            self.dropped.add(TRUNCATED, self.data.ids[row])
        target: Any = self.data.targets[row]
        if self.kind == "labels":
            target = self._indicators(target)
        elif self.kind == "class":
            target = self._numbers.get(str(target), 0)
        return [TuningExample(row, window.ids, window.types, [0], [target])]

    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        outputs = np.concatenate([output for _, output in sorted(predictions, key=lambda pair: pair[0].row)])
        order = np.sort(rows)
        ids = [self.data.ids[row] for row in order]
        gold = [self.data.targets[row] for row in order]
        return {self.protocol.metric: self._item_scores(ids, gold, outputs)}

    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all texts get one class, the same labels or one number."""
        outputs = np.concatenate([output for _, output in predictions])
        if self.kind == "number":
            return bool(np.ptp(outputs) < 1e-3)
        predicted = outputs.argmax(axis=1)[:, None] if self.kind == "class" else outputs > 0
        return len(np.unique(predicted, axis=0)) < 2

    def _item_scores(self, ids: Sequence[str], gold: Sequence[Any], outputs: Outputs) -> ItemScores:
        metric = self.protocol.metric
        if self.kind == "number":
            return score_numbers(ids, np.array(gold, np.float64), outputs[:, 0], "pearson_or_zero")
        if self.kind == "labels":
            truth = np.array([self._indicators(labels) for labels in gold], np.int64)
            return score_label_sets(ids, truth, (outputs > 0).astype(np.int64), metric, labels=self.names)
        classes, predicted = np.array(gold), np.array(self.names)[outputs.argmax(axis=1)]
        if metric == "f1_binary":
            positive = self.protocol.positive
            return score_classes(ids, (classes == positive).astype(int), (predicted == positive).astype(int), metric)
        if metric == "f1_micro" and self.protocol.negative:
            return _exclude_class(self.protocol.negative, ids, classes, predicted)
        return score_classes(ids, classes, predicted, metric)

    def _names(self) -> tuple[str, ...]:
        """Return the classes of the training texts, or all labels."""
        if self.kind == "number":
            return ()
        if self.kind == "labels":
            return tuple(sorted({name for labels in self.data.targets for name in labels}))  # type: ignore[union-attr]
        names = sorted({str(self.data.targets[row]) for row in self.data.train})
        if len(names) < 2:
            raise InputError(f"the training texts are all of the class {names[0]!r}; there is nothing to learn")
        for row in (*self.data.dev, *self.data.test):
            if self.data.targets[row] not in names:
                self.dropped.add(UNSEEN, f"{self.data.ids[row]} {self.data.targets[row]}")
        return tuple(names)

    def _indicators(self, labels: Sequence[str]) -> list[float]:
        return [float(name in labels) for name in self.names]


def _exclude_class(
    negative: str, ids: Sequence[str], gold: NDArray[np.str_], predicted: NDArray[np.str_]
) -> ItemScores:
    """Return the scores of micro F1 over all classes but one."""
    classes = np.setdiff1d(np.union1d(gold, predicted), [negative])
    if not len(classes):
        raise InputError(f"all test texts and all predictions are of the class {negative!r}: F1 is not defined")
    return score_outcomes(ids, gold, predicted, "f1_micro", classes)

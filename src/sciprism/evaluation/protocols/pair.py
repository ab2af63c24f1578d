"""Say something of a text, or of two: a relation, yes or no, a class, several labels, a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Segments
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence, classification, multi_label, numbers
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.evaluation.tuning import heads
from sciprism.evaluation.tuning.choosing import fine_tuned
from sciprism.evaluation.tuning.examples import Example, Pieces
from sciprism.evaluation.tuning.runs import Outputs
from sciprism.evaluation.tuning.settings import Tuning
from sciprism.metrics.classes import outcomes

Metric = Literal["f1_micro", "f1_macro", "f1_binary", "accuracy", "pearson"]
Kind = Literal["class", "labels", "number"]
CUT = "text longer than the model, its end not read"
UNSEEN = "text of a class that no training text has"


@protocols.register("pair")
@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Fine-tune with a linear map on the first token (BLURB's sequence tasks).

    A text has one segment or two. Classes are learnt by cross-entropy, several labels of a text by one
    decision each (p > 0.5), numbers by squared error; one number for all texts scores 0. negative: the class
    that micro F1 leaves out, as relation extraction does; positive: the class of "f1_binary". length: tokens
    that are read, the longer segment cut first.
    """

    metric: Metric = "accuracy"
    negative: str = ""
    positive: str = ""
    length: int = 256
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if (self.metric == "f1_binary") != bool(self.positive):
            raise InputError(
                f"pair: {self.metric} and the positive class {self.positive!r} do not go together"
            )
        if self.negative and self.metric != "f1_micro":
            raise InputError(f"pair: {self.metric} leaves out no class; remove negative = {self.negative!r}")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric."""
        return (self.metric,)

    def evaluate(self, data: Segments, system: System, view: View) -> Outcome:
        """Train on the training rows, score the test rows."""
        return fine_tuned(data, system, view, self, _Saying)


class _Saying:
    """Texts and their targets as examples, and what was said as classes, labels or numbers again."""

    def __init__(self, data: Segments, pieces: Pieces, protocol: Pair) -> None:
        self.data, self.pieces, self.protocol = data, pieces, protocol
        self.tally = DropReport()
        self.kind = _kind(data.targets)
        if (self.kind == "number") != (protocol.metric == "pearson"):
            raise InputError(
                f"pair: the metric {protocol.metric} does not go with targets of the kind {self.kind}"
            )
        self.names = self._names()
        self.width = max(1, len(self.names))

    def loss(self, outputs: Tensor, examples: Sequence[Example]) -> Tensor:
        """Return the sum over texts of what fits the targets."""
        targets: list[Any] = [example.targets[0] for example in examples]
        by_kind = {"class": heads.of_classes, "labels": heads.of_labels, "number": heads.of_numbers}
        return by_kind[self.kind](outputs, targets)  # type: ignore[no-any-return, operator]

    @cached_property
    def examples(self) -> list[Example]:
        """Return one example of each row."""
        found = []
        for row, (window, cut) in enumerate(self.pieces.cut(self.data.texts)):
            if cut:
                self.tally.add(CUT, self.data.ids[row])
            found.append(Example(row, window.ids, window.types, [0], [self._target(row)]))
        return found

    def evidence(self, rows: Rows, said: Sequence[tuple[Example, Outputs]]) -> Mapping[str, Evidence]:
        """Return what each text contributes to the metric."""
        outputs = np.concatenate([found for _, found in sorted(said, key=lambda pair: pair[0].row)])
        order = np.sort(rows)
        ids = [self.data.ids[row] for row in order]
        gold = [self.data.targets[row] for row in order]
        return {self.protocol.metric: self._evidence(ids, gold, outputs)}

    def uniform(self, said: Sequence[tuple[Example, Outputs]]) -> bool:
        """Tell whether all texts get one class, the same labels or one number."""
        outputs = np.concatenate([found for _, found in said])
        if self.kind == "number":
            return bool(np.ptp(outputs) < 1e-3)
        guess = outputs.argmax(axis=1)[:, None] if self.kind == "class" else outputs > 0
        return len(np.unique(guess, axis=0)) < 2

    def _evidence(self, ids: Sequence[str], gold: Sequence[Any], outputs: Outputs) -> Evidence:
        metric = self.protocol.metric
        if self.kind == "number":
            return numbers(ids, np.array(gold, np.float64), outputs[:, 0], "pearson_or_zero")
        if self.kind == "labels":
            truth = np.array([self._marks(labels) for labels in gold], np.int64)
            return multi_label(ids, truth, (outputs > 0).astype(np.int64), metric, labels=self.names)
        classes, guess = np.array(gold), np.array(self.names)[outputs.argmax(axis=1)]
        if metric == "f1_binary":
            positive = self.protocol.positive
            return classification(
                ids, (classes == positive).astype(int), (guess == positive).astype(int), metric
            )
        if metric == "f1_micro" and self.protocol.negative:
            return _without(self.protocol.negative, ids, classes, guess)
        return classification(ids, classes, guess, metric)

    def _names(self) -> tuple[str, ...]:
        """Return the classes of the training texts, or all labels there are."""
        if self.kind == "number":
            return ()
        if self.kind == "labels":
            return tuple(sorted({name for labels in self.data.targets for name in labels}))  # type: ignore[union-attr]
        names = sorted({str(self.data.targets[row]) for row in self.data.train})
        if len(names) < 2:
            raise InputError(
                f"the training texts are all of the class {names[0]!r}; there is nothing to learn"
            )
        for row in (*self.data.dev, *self.data.test):
            if self.data.targets[row] not in names:
                self.tally.add(UNSEEN, f"{self.data.ids[row]} {self.data.targets[row]}")
        return tuple(names)

    def _target(self, row: int) -> Any:
        target = self.data.targets[row]
        if self.kind == "labels":
            return self._marks(target)  # type: ignore[arg-type]
        return target if self.kind == "number" else self._numbers.get(str(target), 0)

    def _marks(self, labels: Sequence[str]) -> list[float]:
        return [float(name in labels) for name in self.names]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


def _kind(targets: Sequence[Any]) -> Kind:
    if isinstance(targets[0], str):
        return "class"
    return "labels" if isinstance(targets[0], tuple) else "number"


def _without(negative: str, ids: Sequence[str], gold: NDArray[np.str_], guess: NDArray[np.str_]) -> Evidence:
    """Return the evidence of micro F1 over all classes but one."""
    classes = np.setdiff1d(np.union1d(gold, guess), [negative])
    if not len(classes):
        raise InputError(
            f"all test texts are of the class {negative!r}, and so are all answers: F1 is not defined"
        )
    columns = np.concatenate(outcomes(gold, guess, classes), axis=1).astype(np.float64)
    return Evidence(tuple(ids), columns, "f1_micro", labels=tuple(classes.tolist()))

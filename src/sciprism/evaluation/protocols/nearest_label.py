"""Classify each paper by the nearest class text: coarse classification (SciMult, Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciprism.datasets.inputs import LabelInput
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import score_classes
from sciprism.evaluation.protocols.registry import check_metrics, protocols
from sciprism.evaluation.systems import Distance, System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult

METRICS = ("f1_macro", "f1_micro", "accuracy")


@protocols.register("nearest-label")
@dataclass(frozen=True, slots=True, kw_only=True)
class NearestLabelProtocol:
    """Compare papers with the names (and definitions) of a few classes; nothing is trained.

    SciMult reports macro F1. Ties go to the first class.
    """

    metrics: tuple[str, ...] = ("f1_macro", "f1_micro")
    distance: Distance = "encoder"

    def __post_init__(self) -> None:
        check_metrics("nearest-label", self.metrics, METRICS)

    def evaluate(self, data: LabelInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Predict one class for each paper that has exactly one."""
        dropped = DropReport()
        labelled = [i for i, gold in enumerate(data.gold) if len(gold) == 1]
        for i in sorted(set(range(len(data.gold))) - set(labelled)):
            dropped.add("paper without exactly one class", data.paper_ids[i])
        if not labelled:
            raise InputError("no paper has exactly one of the classes; check the labels' ids")
        papers, labels = context.papers([data.papers[i] for i in labelled]), context.labels(data.labels)
        _, rows = system.top(papers, labels, 1, self.distance, None)
        ids = tuple(data.paper_ids[i] for i in labelled)
        gold = np.array([data.gold[i][0] for i in labelled])
        for row in np.flatnonzero(rows[:, 0] < 0):  # all classes tie at 0
            dropped.add("paper that shares nothing with any class, the first is taken", ids[row])
        predicted = np.maximum(rows[:, 0], 0)
        item_scores = {name: score_classes(ids, gold, predicted, name) for name in self.metrics}
        details = {"papers": len(labelled), "classes": len(data.labels), "distance": self.distance}
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)

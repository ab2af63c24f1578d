"""Give each paper the class whose text is nearest: coarse classification (SciMult, Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciprism.datasets.inputs import LabelSpace
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import classification
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import Distance, System
from sciprism.evaluation.task import Outcome, View

METRICS = ("f1_macro", "f1_micro", "accuracy")


@protocols.register("nearest-label")
@dataclass(frozen=True, slots=True, kw_only=True)
class NearestLabel:
    """Compare papers with the names (and definitions) of a few classes; nothing is trained.

    The paper (SciMult) reports macro F1. Ties go to the class that stands first.
    """

    metrics: tuple[str, ...] = ("f1_macro", "f1_micro")
    distance: Distance = "encoder"

    def __post_init__(self) -> None:
        unknown = set(self.metrics) - set(METRICS)
        if unknown or not self.metrics:
            raise InputError(f"nearest-label: unknown metrics {sorted(unknown)}; known: {', '.join(METRICS)}")

    def evaluate(self, data: LabelSpace, system: System, view: View) -> Outcome:
        """Predict one class for each paper that has exactly one."""
        tally = DropReport()
        asked = [i for i, gold in enumerate(data.gold) if len(gold) == 1]
        for i in sorted(set(range(len(data.gold))) - set(asked)):
            tally.add("paper without exactly one class", data.paper_ids[i])
        if not asked:
            raise InputError("no paper has exactly one of the classes; check the labels' ids")
        papers, labels = view.papers([data.papers[i] for i in asked]), view.labels(data.labels)
        _, rows = system.top(papers, labels, 1, self.distance, None)
        ids = tuple(data.paper_ids[i] for i in asked)
        gold = np.array([data.gold[i][0] for i in asked])
        for row in np.flatnonzero(rows[:, 0] < 0):  # all classes tie at nothing
            tally.add("paper that shares nothing with any class, the first is taken", ids[row])
        guess = np.maximum(rows[:, 0], 0)
        evidence = {name: classification(ids, gold, guess, name) for name in self.metrics}
        details = {"papers": len(asked), "classes": len(data.labels), "distance": self.distance}
        return Outcome(evidence=evidence, details=details, tally=tally)

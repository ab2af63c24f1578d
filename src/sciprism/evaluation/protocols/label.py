"""Compare papers with the names of labels, untrained: rank a whole vocabulary, or choose one of a few classes.

"label": extreme multi-label classification (SciMult, Tables 3, A3, A8). "nearest-label": coarse classification
(SciMult, Table 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.inputs import LabelInput
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, score_classes
from sciprism.evaluation.systems import Distance, System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult, check_metrics, protocols
from sciprism.papers.records import Paper
from sciprism.uses.label_names import LabelNames

BLOCK = 4096  # papers ranked at once: memory holds their best labels, never a score of every paper and label


@protocols.register("label")
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelProtocol:
    """Score papers against all labels; recall@k = share of a paper's labels among its k best.

    names_first: labels whose name (or synonym) occurs in the paper are ranked before all others, in the
    system's order within both groups (SciMult section 4.1; used in Table 3, not in Table A3). raw_names:
    names and texts are normalized before matching (published MAPLE files already are). text: the encoded part
    of a label. Ties go to the first label.
    """

    metrics: tuple[str, ...] = ("recall@20", "recall@50", "recall@100")
    names_first: bool = False
    raw_names: bool = False
    distance: Distance = "encoder"
    text: Literal["name and definition", "name"] = "name and definition"

    def __post_init__(self) -> None:
        for name in self.metrics:
            kind, _, depth = name.partition("@")
            if kind != "recall" or not depth.isdigit() or not int(depth):
                raise InputError(f"label: the metric {name!r} is not recall@K")

    def evaluate(self, data: LabelInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Rank all labels for every paper that has one, block by block."""
        labelled, dropped = _select_labelled(data, lambda gold: len(gold) > 0, "a label of the vocabulary")
        cuts = [int(name.partition("@")[2]) for name in self.metrics]
        names_only = self.text == "name"
        labels = context.labels([replace(label, definition="") if names_only else label for label in data.labels])
        names = LabelNames(data.labels if self.names_first and data.matched is None else (), raw=self.raw_names)
        recalls = np.empty((len(labelled), len(cuts)))
        for start in range(0, len(labelled), BLOCK):
            part = labelled[start : start + BLOCK]
            papers = context.papers([data.papers[i] for i in part])
            _, best = system.top(papers, labels, min(max(cuts), len(data.labels)), self.distance, None)
            rankings = [row[row >= 0] for row in best]
            if self.names_first:
                items = (data.papers[i] for i in part)
                texts = (f"{item.title} {item.abstract}" if isinstance(item, Paper) else str(item) for item in items)
                matched = names.match([*texts]) if data.matched is None else [data.matched[i] for i in part]
                scores = system.pool_scores(papers, labels, matched, self.distance)
                named = [rows[np.argsort(-own, kind="stable")] for rows, own in zip(matched, scores, strict=True)]
                rankings = [np.r_[own, rest[~np.isin(rest, own)]] for own, rest in zip(named, rankings, strict=True)]
            for row, (i, ranking) in enumerate(zip(part, rankings, strict=True), start):
                hits = np.isin(ranking, data.gold[i])
                recalls[row] = [hits[:cut].sum() / len(data.gold[i]) for cut in cuts]
        ids = tuple(data.paper_ids[i] for i in labelled)
        item_scores = {name: ItemScores(ids, recalls[:, [column]], "mean") for column, name in enumerate(self.metrics)}
        details = {"papers": len(labelled), "labels": len(data.labels), "distance": self.distance}
        return ProtocolResult(item_scores=item_scores, details=details, dropped=dropped)


def _select_labelled(data: LabelInput, fits: Callable[[Rows], bool], what: str) -> tuple[list[int], DropReport]:
    """Return the papers whose labels fit, and a report of the others; InputError where there is none."""
    dropped = DropReport()
    for paper, gold in zip(data.paper_ids, data.gold, strict=True):
        if not fits(gold):
            dropped.add(f"paper without {what}", paper)
    labelled = [i for i, gold in enumerate(data.gold) if fits(gold)]
    if not labelled:
        raise InputError(f"no paper has {what}; check the labels' ids")
    return labelled, dropped


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
        labelled, dropped = _select_labelled(data, lambda gold: len(gold) == 1, "exactly one class")
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

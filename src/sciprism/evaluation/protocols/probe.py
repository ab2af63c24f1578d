"""Predict classes or numbers from frozen vectors by a linear model (SciRepEval, SciDocs, SciMult)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sciprism.arrays import Floats, Rows
from sciprism.datasets.inputs import ProbeInput
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import (
    ItemScores,
    average_parts,
    estimate,
    score_classes,
    score_label_sets,
    score_numbers,
    score_rankings,
)
from sciprism.evaluation.systems import System, encode_rows
from sciprism.evaluation.task import EvaluationContext, Positive, ProtocolResult, protocols
from sciprism.probes import LossName, Probe, ProbeSettings, fit_probes, grid_search
from sciprism.probes.features import split_folds
from sciprism.probes.grid import SolverName

Metric = Literal[
    "f1_macro", "f1_micro", "f1_binary", "accuracy", "average_precision", "kendall_tau", "spearman", "pearson", "r2"
]
OF_NUMBERS = ("kendall_tau", "spearman", "pearson", "r2")
OF_GROUPS = ("f1_macro", "f1_binary", "average_precision")
SEED = 42  # the first seed of SciRepEval's few-shot samples
HARDLY = 0.01  # spread of predictions, as a share of that of the training targets, below which a result has a warning
COST = 1.0  # C of few-shot probes of single-label tasks, without a grid search


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """Train on few papers, several times, and average the scores.

    per_label False: each training set is one of ceil(n / size) stratified folds, not shuffled, of about
    `size` papers, with C = 1 (Biomimicry, DRSM). True: `size` papers of each label, sampled each time, with
    the grid of C (FoS, multi-label).
    """

    size: Annotated[int, Field(ge=2)]
    iterations: Positive
    per_label: bool = False


@protocols.register("probe")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeProtocol:
    """Fit a linear SVM (or SVR) on the training papers and score it on the test papers.

    C is chosen from `grid` by cross-validation on the training papers; vectors are not scaled. The published
    tables use no intercept; scikit-learn's default has one, and so have custom tasks of numbers. Numbers use the
    epsilon-insensitive loss with epsilon 0. standardize_targets: numbers are fitted as standard deviations from
    the mean of the training papers; the published tables fit them as they are, which does not suit years.
    Where the data have groups, each has its own probe; "average_precision" ranks a group's test papers by the
    decision value, which is more informative than F1 where positives are rare. metric: one, or several of one fit.
    """

    metric: Metric | tuple[Metric, ...] = "f1_macro"
    loss: LossName = "squared_hinge"
    grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)
    folds: int = 3
    intercept: bool = False
    standardize_targets: bool = False
    few_shot: tuple[FewShot, ...] = ()
    solver: SolverName = field(default="exact", metadata={"exact": "sciprism"})

    def __post_init__(self) -> None:
        if not self._named or len({*self._named}) < len(self._named):
            raise InputError(f"probe: the metrics are {self.metric!r}; name at least one, and each once")
        for metric in self._named:
            if (metric in OF_NUMBERS) != (self.loss == "epsilon_insensitive"):
                raise InputError(
                    f"probe: the metric {metric} does not go with the loss {self.loss}; numbers "
                    f"({', '.join(OF_NUMBERS)}) need epsilon_insensitive, classes a hinge"
                )
            if self.standardize_targets and metric not in OF_NUMBERS:
                raise InputError(f"probe: {metric} is of classes; remove standardize_targets, which is for numbers")
            if self.few_shot and metric in (*OF_NUMBERS, "average_precision"):
                raise InputError(f"probe: few-shot tasks have classes; {metric} is not for them")
        self._settings()  # checked when built

    @property
    def _named(self) -> tuple[Metric, ...]:
        return self.metric if isinstance(self.metric, tuple) else (self.metric,)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics, and their few-shot variants."""
        return (*self._named, *(_few_name(metric, few) for few in self.few_shot for metric in self._named))

    def evaluate(self, data: ProbeInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Fit on the training rows, predict the test rows."""
        if not len(data.train) or not len(data.test):
            raise InputError(f"{len(data.train)} papers to train on and {len(data.test)} to test; need both")
        used = np.union1d(data.train, data.test)
        vectors = encode_rows(system, context.papers(data.items), used)
        problem = _Problem(vectors, data, self._settings(), self.standardize_targets)
        item_scores: dict[str, ItemScores] = {}
        if data.groups is not None:
            item_scores |= problem.score_groups(np.array(data.groups), self._named)
        elif "average_precision" in self._named:
            raise InputError("average_precision ranks the papers of each group, and these data have no groups")
        else:
            predicted = problem.predict_test(data.train)
            item_scores |= {metric: problem.item_scores(metric, [predicted]) for metric in self._named}
            problem.check_predictions(self._named, predicted)
        for few in self.few_shot:
            runs = problem.predict_few_per_label(few, context.seed) if few.per_label else problem.predict_few(few)
            item_scores |= {_few_name(metric, few): problem.item_scores(metric, runs) for metric in self._named}
        details = {"train": len(data.train), "test": len(data.test), **problem.details}
        return ProtocolResult(item_scores=item_scores, details=details, dropped=problem.dropped)

    def _settings(self) -> ProbeSettings:
        return ProbeSettings(
            loss=self.loss, grid=self.grid, folds=self.folds, intercept=self.intercept, solver=self.solver
        )


def _few_name(metric: str, few: FewShot) -> str:
    return f"{metric} {few.size}-shot"


class _Problem:
    """The vectors and targets of one task, and the details of fitting them."""

    def __init__(self, vectors: Floats, data: ProbeInput, settings: ProbeSettings, standardize_targets: bool) -> None:
        self.vectors, self.data, self.settings = vectors, data, settings
        self.standardize_targets = standardize_targets
        self.dropped = DropReport()
        self.details: dict[str, Any] = {
            "solver": settings.solver,
            "intercept": settings.intercept,
            "C": [],
            "largest relative gap": 0.0,
            "notes": [],
        }
        if standardize_targets:
            self.details["standardize_targets"] = True
        self.names: tuple[str, ...] = ()
        several = [labels for labels in data.targets if isinstance(labels, tuple)]
        if several:
            found = {name for labels in several for name in labels}
            # numbers by their value, as SciRepEval orders its fields of study
            self.names = tuple(sorted(found, key=lambda name: (int(name) if name.isdecimal() else np.inf, name)))
            columns = {name: i for i, name in enumerate(self.names)}
            self.targets: NDArray[Any] = np.zeros((len(several), len(self.names)), np.int64)
            for row, labels in enumerate(several):
                self.targets[row, [columns[name] for name in labels]] = 1
        else:
            self.targets = np.array(data.targets)

    def predict_test(self, train: Rows, note: bool = True) -> NDArray[Any]:
        """Choose C on the training rows; return the predictions for the test rows."""
        targets = self.targets[train]
        mean, deviation = (targets.mean(), targets.std() or 1.0) if self.standardize_targets else (0.0, 1.0)
        if self.standardize_targets:
            targets = (targets - mean) / deviation
        predicted = self._fit(train, targets, note).predict(self.vectors[self.data.test])
        predicted = predicted if predicted.ndim == 1 or self.names else predicted[:, 0]
        return mean + deviation * predicted.astype(np.float64) if self.standardize_targets else predicted

    def check_predictions(self, metrics: Sequence[Metric], predicted: NDArray[Any]) -> None:
        """Warn in the details where predictions hardly vary, or score below one prediction for all papers."""
        warnings = []
        train = self.targets[self.data.train]
        if metrics[0] in OF_NUMBERS:
            spread, wanted = float(np.std(predicted)), float(np.std(train))
            if spread < HARDLY * wanted:
                warnings.append(
                    f"the predictions hardly vary: standard deviation {spread:.3g}, of the targets {wanted:.3g}"
                )
        elif len(np.unique(predicted, axis=0)) == 1:
            warnings.append(f"all {len(predicted)} test papers get the same prediction")
        for metric in metrics:
            constant = self._predict_constant(metric, train)
            score, lowest = (estimate(self.item_scores(metric, [prediction])) for prediction in (predicted, constant))
            lowest = 0.0 if np.isnan(lowest) else lowest  # a correlation with a constant
            if score < lowest:
                warnings.append(f"{metric} {score:.4f} is below {lowest:.4f}, that of one prediction for all papers")
        if warnings:
            self.details["warnings"] = warnings

    def _predict_constant(self, metric: Metric, train: NDArray[Any]) -> NDArray[Any]:
        """Return the best single prediction, for all test rows: median, class, label set, or the positive class."""
        if metric in OF_NUMBERS:
            return np.full(len(self.data.test), np.median(train))
        if self.names:
            return np.tile((train.mean(axis=0) > 0.5).astype(np.int64), (len(self.data.test), 1))
        classes, counts = np.unique(train, return_counts=True)
        return np.full(len(self.data.test), self.data.positive if metric == "f1_binary" else classes[counts.argmax()])

    def score_groups(self, groups: NDArray[np.str_], metrics: Sequence[Metric]) -> dict[str, ItemScores]:
        """Fit a probe on each group's training rows and score its test rows."""
        if other := [metric for metric in metrics if metric not in OF_GROUPS]:
            raise InputError(f"{other[0]} is not a metric of data with groups; these are {', '.join(OF_GROUPS)}")
        positive, test = self.data.positive, self.data.test
        scores = np.empty(len(test))
        for group in np.unique(groups[test]):
            train = self.data.train[groups[self.data.train] == group]
            if len(np.unique(self.targets[train])) < 2:
                raise InputError(f"group {group!r}: its {len(train)} training papers are all of one class")
            member, probe = groups[test] == group, self._fit(train, self.targets[train])
            assert probe.classes is not None
            sign = 1 if probe.classes[-1] == positive else -1
            scores[member] = sign * probe.decide(self.vectors[test[member]])[:, 0]
        ids, gold = np.array([self.data.ids[row] for row in test]), self.targets[test] == positive
        # The positive class's F1 within each group, averaged over the groups: each group is a label.
        names = np.unique(groups[test])
        member = groups[test][:, None] == names
        labelled, predicted = gold[:, None] & member, (scores > 0)[:, None] & member
        return {
            metric: self._rank_groups(ids, gold, scores, groups[test])
            if metric == "average_precision"
            else score_label_sets(tuple(ids.tolist()), labelled, predicted, "f1_macro", labels=names.tolist())
            for metric in metrics
        }

    def _rank_groups(
        self, ids: NDArray[np.str_], gold: NDArray[np.bool_], scores: NDArray[Any], groups: NDArray[np.str_]
    ) -> ItemScores:
        """Return the average precision of each group with a positive test paper."""
        names = [str(name) for name in np.unique(groups)]
        with_positive = [name for name in names if gold[groups == name].any()]
        for name in set(names) - set(with_positive):
            self.dropped.add("group without a positive test paper", name)
        parts = [groups == name for name in with_positive]
        return score_rankings(
            ["map"],
            with_positive,
            ranked=[(ids[part], scores[part]) for part in parts],
            judged=[dict(zip(ids[part].tolist(), gold[part].astype(int).tolist(), strict=True)) for part in parts],
        )["map"]

    def _fit(self, train: Rows, targets: NDArray[Any], note: bool = True) -> Probe:
        fitted = grid_search(self.vectors[train], targets, self.settings)
        if note:
            self.details["C"] += [float(c) for c in fitted.best]
            self.details["largest relative gap"] = max(self.details["largest relative gap"], fitted.gap)
            self.details["notes"] += fitted.notes
        return fitted.probe

    def predict_few(self, few: FewShot) -> list[NDArray[Any]]:
        """Train on stratified folds of about `size` rows (SciRepEval's single-label few-shot)."""
        train = self.data.train
        parts = -(-len(train) // few.size)
        if parts < 2:
            raise InputError(f"few-shot of {few.size} from {len(train)} training papers; need more papers")
        folds = split_folds(len(train), parts, self.targets[train])
        subsets = [train[folds == fold] for fold in range(min(few.iterations, parts))]
        usable = [rows for rows in subsets if len(np.unique(self.targets[rows])) > 1]
        for number in range(len(subsets) - len(usable)):
            self.dropped.add(f"{few.size}-shot sample of one class only, left out", str(number))
        probes = fit_probes(
            self.vectors, self.targets, usable, loss=self.settings.loss, cost=COST, intercept=self.settings.intercept
        )
        return [probe.predict(self.vectors[self.data.test]) for probe in probes]

    def predict_few_per_label(self, few: FewShot, seed: int) -> list[NDArray[Any]]:
        """Train on `size` rows of each label, sampled without replacement (SciRepEval's FoS).

        The folds are not shuffled, so the order of the rows counts: it is that of a set, as in the authors' code.
        """
        predictions = []
        for number in range(few.iterations):
            random = np.random.RandomState(SEED + seed + number)
            drawn: set[int] = set()
            for column in self.targets[self.data.train].T:
                positive = np.flatnonzero(column)
                drawn.update(random.choice(positive, min(few.size, len(positive)), replace=False).tolist())
            predictions.append(self.predict_test(self.data.train[list(drawn)], note=False))
        return predictions

    def item_scores(self, metric: Metric, runs: Sequence[NDArray[Any]]) -> ItemScores:
        """Return the scores of the test papers; runs: the predictions of each few-shot iteration."""
        ids = tuple(self.data.ids[row] for row in self.data.test)
        gold = self.targets[self.data.test]
        if metric in OF_NUMBERS:
            return score_numbers(ids, gold, runs[0], metric)
        if self.names:
            return average_parts([score_label_sets(ids, gold, run, metric, labels=self.names) for run in runs])
        if metric == "f1_binary":
            positive = self.data.positive
            gold, runs = (gold == positive).astype(int), [(run == positive).astype(int) for run in runs]
        classes = np.unique(np.concatenate([gold, *runs]))
        return average_parts([score_classes(ids, gold, run, metric, labels=classes) for run in runs])

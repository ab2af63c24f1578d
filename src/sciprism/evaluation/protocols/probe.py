"""Predict classes or numbers from frozen vectors by a linear model (SciRepEval, SciDocs, SciMult)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.datasets.inputs import Labelled
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence, classification, mean_of, multi_label, numbers
from sciprism.evaluation.protocols.ranked import mean_per_query
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.probes import LossName, ProbeSettings, fit_probes, grid_search
from sciprism.probes import Probe as LinearProbe
from sciprism.probes.folds import stratified_folds
from sciprism.probes.settings import SolverName

Metric = Literal[
    "f1_macro",
    "f1_micro",
    "f1_binary",
    "accuracy",
    "average_precision",
    "kendall_tau",
    "spearman",
    "pearson",
    "r2",
]
OF_NUMBERS = ("kendall_tau", "spearman", "pearson", "r2")
SEED = 42
"""The seed that SciRepEval's few-shot draws count from."""
COST = 1.0
"""C of few-shot probes of single-label tasks, which have no grid search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """Train on few papers, several times, and average.

    per_label False: each training set is one of ceil(n / size) stratified folds, not shuffled, so about
    `size` papers in all, with C = 1 (Biomimicry, DRSM). True: `size` papers of each label, drawn anew each
    time, with the grid of C (FoS, multi-label).
    """

    size: int
    iterations: int
    per_label: bool = False

    def __post_init__(self) -> None:
        if self.size < 2 or self.iterations < 1:
            raise InputError(f"few-shot of {self.size} papers, {self.iterations} times: too few")


@protocols.register("probe")
@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Fit a linear SVM (or SVR) on the training papers and score it on the test papers.

    C is chosen from `grid` by cross-validation on the training papers alone; nothing is scaled. Without an
    intercept the numbers are those of the published tables (their solver fits none); scikit-learn's default
    has one. Numbers use the epsilon-insensitive loss with epsilon 0. Where the data have groups, each is a
    problem of its own; "average_precision" ranks its test papers by how positive the probe finds them, which
    tells more than F1 where positives are rare.
    """

    metric: Metric = "f1_macro"
    loss: LossName = "squared_hinge"
    grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)
    folds: int = 3
    intercept: bool = False
    few_shot: tuple[FewShot, ...] = ()
    solver: SolverName = "sciprism"

    def __post_init__(self) -> None:
        if (self.metric in OF_NUMBERS) != (self.loss == "epsilon_insensitive"):
            raise InputError(
                f"probe: the metric {self.metric} does not go with the loss {self.loss}; numbers "
                f"({', '.join(OF_NUMBERS)}) need epsilon_insensitive, classes a hinge"
            )
        if self.few_shot and self.metric in (*OF_NUMBERS, "average_precision"):
            raise InputError(f"probe: few-shot tasks have classes; {self.metric} is not for them")
        self._settings()  # which check themselves

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric, and once more for each few-shot setting."""
        return (self.metric, *(self._few_name(few) for few in self.few_shot))

    def evaluate(self, data: Labelled, system: System, view: View) -> Outcome:
        """Fit on the training rows, predict the test rows."""
        if not len(data.train) or not len(data.test):
            raise InputError(f"{len(data.train)} papers to train on and {len(data.test)} to test; need both")
        problem = _Problem(_vectors(data, system, view), data, self._settings())
        evidence: dict[str, Evidence] = {}
        if data.groups is not None:
            evidence[self.metric] = problem.of_groups(np.array(data.groups), self.metric)
        elif self.metric == "average_precision":
            raise InputError(
                "average_precision ranks the papers of each group, and these data have no groups"
            )
        else:
            evidence[self.metric] = problem.evidence(self.metric, [problem.predicted(data.train)])
        for few in self.few_shot:
            tries = problem.few_by_label(few, view.seed) if few.per_label else problem.few_in_all(few)
            evidence[self._few_name(few)] = problem.evidence(self.metric, tries)
        details = {"train": len(data.train), "test": len(data.test), **problem.details}
        return Outcome(evidence=evidence, details=details, tally=problem.tally)

    def _settings(self) -> ProbeSettings:
        return ProbeSettings(
            loss=self.loss, grid=self.grid, folds=self.folds, intercept=self.intercept, solver=self.solver
        )

    def _few_name(self, few: FewShot) -> str:
        return f"{self.metric} {few.size}-shot"


def _vectors(data: Labelled, system: System, view: View) -> Floats:
    """Encode the papers that are trained on or tested, and no other; the rest stay zero."""
    used = np.union1d(data.train, data.test)
    found = np.asarray(system.vectors(view.papers([data.items[row] for row in used])))
    vectors = np.zeros((len(data.items), found.shape[1]), np.float32)
    vectors[used] = found
    return vectors


class _Problem:
    """The vectors and targets of one task, and what fitting them told."""

    def __init__(self, vectors: Floats, data: Labelled, settings: ProbeSettings) -> None:
        self.vectors, self.data, self.settings = vectors, data, settings
        self.tally = DropReport()
        self.details: dict[str, Any] = {"solver": settings.solver, "intercept": settings.intercept}
        self.details |= {"C": [], "largest relative gap": 0.0, "notes": []}
        self.names: tuple[str, ...] = ()
        several = [labels for labels in data.targets if isinstance(labels, tuple)]
        if several:
            self.names = tuple(sorted({name for labels in several for name in labels}))
            places = {name: i for i, name in enumerate(self.names)}
            self.targets: NDArray[Any] = np.zeros((len(several), len(self.names)), np.int64)
            for row, labels in enumerate(several):
                self.targets[row, [places[name] for name in labels]] = 1
        else:
            self.targets = np.array(data.targets)

    def predicted(self, train: Rows, note: bool = True) -> NDArray[Any]:
        """Choose C on the training rows and return what the probe says of the test rows."""
        found = self._fitted(train, note).predict(self.vectors[self.data.test])
        return found if found.ndim == 1 or self.names else found[:, 0]

    def of_groups(self, groups: NDArray[np.str_], metric: Metric) -> Evidence:
        """Fit a probe of its own on each group's training rows, and score its test rows."""
        positive, test = self.data.positive, self.data.test
        scores = np.empty(len(test))
        for group in np.unique(groups[test]):
            train = self.data.train[groups[self.data.train] == group]
            if len(np.unique(self.targets[train])) < 2:
                raise InputError(f"group {group!r}: its {len(train)} training papers are all of one class")
            here, probe = groups[test] == group, self._fitted(train)
            assert probe.classes is not None
            sign = 1 if probe.classes[-1] == positive else -1
            scores[here] = sign * probe.decide(self.vectors[test[here]])[:, 0]
        ids, gold = np.array([self.data.ids[row] for row in test]), self.targets[test] == positive
        if metric == "average_precision":
            return self._ranked(ids, gold, scores, groups[test])
        return _grouped(tuple(ids.tolist()), gold, scores > 0, groups[test])

    def _ranked(
        self, ids: NDArray[np.str_], gold: NDArray[np.bool_], scores: NDArray[Any], groups: NDArray[np.str_]
    ) -> Evidence:
        """Return the average precision of each group that has a positive test paper."""
        names = [str(name) for name in np.unique(groups)]
        asked = [name for name in names if gold[groups == name].any()]
        for name in set(names) - set(asked):
            self.tally.add("group without a positive test paper", name)
        parts = [groups == name for name in asked]
        return mean_per_query(
            ["map"],
            asked,
            ranked=[(ids[part], scores[part]) for part in parts],
            judged=[
                dict(zip(ids[part].tolist(), gold[part].astype(int).tolist(), strict=True)) for part in parts
            ],
        )["map"]

    def _fitted(self, train: Rows, note: bool = True) -> LinearProbe:
        fitted = grid_search(self.vectors[train], self.targets[train], self.settings)
        if note:
            self.details["C"] += [float(c) for c in fitted.best]
            self.details["largest relative gap"] = max(self.details["largest relative gap"], fitted.gap)
            self.details["notes"] += fitted.notes
        return fitted.probe

    def few_in_all(self, few: FewShot) -> list[NDArray[Any]]:
        """Train on stratified folds of about `size` rows (SciRepEval's single-label few-shot)."""
        train = self.data.train
        parts = -(-len(train) // few.size)
        if parts < 2:
            raise InputError(f"few-shot of {few.size} from {len(train)} training papers; need more papers")
        folds = stratified_folds(self.targets[train], parts)
        subsets = [train[folds == fold] for fold in range(min(few.iterations, parts))]
        usable = [rows for rows in subsets if len(np.unique(self.targets[rows])) > 1]
        for number in range(len(subsets) - len(usable)):
            self.tally.add(f"{few.size}-shot sample of one class only, left out", str(number))
        probes = fit_probes(
            self.vectors,
            self.targets,
            usable,
            loss=self.settings.loss,
            cost=COST,
            intercept=self.settings.intercept,
        )
        return [probe.predict(self.vectors[self.data.test]) for probe in probes]

    def few_by_label(self, few: FewShot, seed: int) -> list[NDArray[Any]]:
        """Train on `size` rows of each label, drawn without replacement (SciRepEval's FoS)."""
        found = []
        for number in range(few.iterations):
            draw = np.random.RandomState(SEED + seed + number)
            rows: set[int] = set()
            for column in self.targets[self.data.train].T:
                positive = self.data.train[column == 1]
                rows.update(draw.choice(positive, min(few.size, len(positive)), replace=False).tolist())
            found.append(self.predicted(np.array(sorted(rows)), note=False))
        return found

    def evidence(self, metric: Metric, tries: Sequence[NDArray[Any]]) -> Evidence:
        """Return what each test paper contributes to the metric, one part per try."""
        ids = tuple(self.data.ids[row] for row in self.data.test)
        gold = self.targets[self.data.test]
        if metric in OF_NUMBERS:
            return numbers(ids, gold, tries[0], metric)
        if self.names:
            return mean_of([multi_label(ids, gold, guess, metric, labels=self.names) for guess in tries])
        positive = self.data.positive
        if metric == "f1_binary":
            gold, tries = (gold == positive).astype(int), [(guess == positive).astype(int) for guess in tries]
        return mean_of([classification(ids, gold, guess, metric) for guess in tries])


def _grouped(
    ids: tuple[str, ...], gold: NDArray[np.bool_], guess: NDArray[np.bool_], groups: NDArray[np.str_]
) -> Evidence:
    """Make the F1 of the positive class within each group, averaged over the groups."""
    names = np.unique(groups)
    here = groups[:, None] == names
    gold, guess = gold[:, None] & here, guess[:, None] & here
    return multi_label(ids, gold, guess, "f1_macro", labels=[str(name) for name in names])

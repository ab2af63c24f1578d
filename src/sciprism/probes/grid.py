"""Fit probes: with a given C, on all rows or on many small subsets (few-shot), or with C of a cross-validation."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import sciprism.probes.features as inputs
from sciprism.arrays import Doubles, Floats, Integers, inner_products
from sciprism.errors import InputError, import_extra
from sciprism.parallel import map_threads
from sciprism.probes.solver import LOSSES, TOLERANCE, LossName, Problems, Solver, Weights

SolverName = Literal["exact", "published", "intercept", "sklearn"]
SUBSET_TOLERANCE = 1e-7  # few rows leave many papers near a tie, which scikit-learn's solution decides


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """Settings of a grid search; InputError for invalid values.

    loss: "squared_hinge" or "hinge" for classes and labels, "epsilon_insensitive" (epsilon 0) for real
    targets. grid: values of C, chosen by the mean over the folds of the accuracy, or R2 of real targets.
    intercept: False for the published numbers of SciDocs and SciRepEval, True for scikit-learn's default.
    tolerance: relative duality gap at which a problem counts as solved. solver: "exact" is ours. "published" is
    that of SciRepEval's tables: `PublishedRegression` for values; for classes and labels it agrees with "exact", which
    is used. "sklearn" runs scikit-learn's estimators, "intercept" the same with an intercept, as SciRepEval's code
    does where its first choice of a library is missing. All but "exact" run GridSearchCV; only they use seed and
    iterations (max_iter).
    """

    loss: LossName = "squared_hinge"
    grid: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    folds: int = 3
    intercept: bool = False
    tolerance: float = TOLERANCE
    solver: SolverName = "exact"
    seed: int = 42
    iterations: int = 1000

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise InputError(f"unknown loss {self.loss!r}; known: {', '.join(LOSSES)}")
        if not self.grid or not all(0 < c < float("inf") for c in self.grid):
            raise InputError(f"the grid of C is {self.grid}; give numbers above 0")
        if self.solver not in get_args(SolverName):
            raise InputError(f"unknown solver {self.solver!r}; known: {', '.join(get_args(SolverName))}")
        if self.folds < 2:
            raise InputError(f"{self.folds} folds; give at least 2")
        if not 0 < self.tolerance < 1:
            raise InputError(f"the tolerance is {self.tolerance}; give a number between 0 and 1")


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """A fitted probe, the best C of each choice (g,), and the scores behind it.

    Classes share one choice of C; each label or value has its own. scores (C, folds, g): of each held-out
    fold, NaN where a fold's training part has one class only. gap: the largest relative duality gap of all
    problems (NaN with scikit-learn, which reports none). notes: limitations that a report should mention.
    """

    probe: inputs.Probe
    best: Doubles
    scores: Doubles
    gap: float
    notes: tuple[str, ...]


def grid_search(
    features: NDArray[np.floating], targets: NDArray[Any], settings: ProbeSettings | None = None
) -> GridSearchResult:
    """Fit a probe on features (n, d) with the best C of a cross-validation (GridSearchCV's rules).

    targets: classes (n,), labels (n, k) of 0 and 1, or, with the loss "epsilon_insensitive", values (n,) or
    (n, k). Folds are not shuffled, and stratified except for values. Of equally good C the first is chosen. A
    fold whose training part has a single class has no score, and the first C is chosen. Constant labels are
    not fitted: their probe always predicts the constant.
    """
    settings = settings or ProbeSettings()
    rows = inputs.check_features(features)
    checked = inputs.read_targets(targets, len(rows), LOSSES[settings.loss].margins)
    folds = inputs.assign_folds(checked, settings.folds)
    notes = _describe_problems(checked, folds)
    if settings.solver != "exact" and not (settings.solver == "published" and LOSSES[settings.loss].margins):
        return _search_with_sklearn(rows, checked, settings, notes)
    search = _CrossValidation(rows, checked, folds, settings)
    weights = search.validate()
    scores = search.scores(weights)
    means = scores.mean(axis=1)
    choice: Integers = np.where(np.isnan(means), -np.inf, means).argmax(axis=0)  # the first of equals
    last = search.refit(weights, choice)
    gap = float(max(weights.gaps.max(), last.gaps.max()))
    if gap > settings.tolerance:
        late = int((weights.gaps > settings.tolerance).sum() + (last.gaps > settings.tolerance).sum())
        notes = (*notes, f"{late} problems ended above the tolerance; the largest relative gap is {gap:.1e}")
    probe = inputs.build_probe(checked, last.vectors, last.intercepts)
    return GridSearchResult(probe, np.asarray(settings.grid)[choice], scores, gap, notes)


class _CrossValidation:
    """The problems of one grid search, in the order fold, C, column."""

    def __init__(
        self, features: Floats, targets: inputs.ProbeTargets, folds: Integers, settings: ProbeSettings
    ) -> None:
        self.features, self.targets, self.folds, self.settings = features, targets, folds, settings
        self.shape = (settings.folds, len(settings.grid), len(targets.columns))
        self.shared = len(folds) == 1
        self.columns = torch.from_numpy(targets.columns)
        self.costs = torch.tensor(settings.grid, dtype=torch.double)
        parts = [np.flatnonzero(folds[0] == fold) for fold in range(settings.folds)] if self.shared else ()
        self.solver = Solver(features, parts, intercept=settings.intercept, problems=int(np.prod(self.shape)))

    def validate(self) -> Weights:
        """Fit on every fold's training part with every C -> weights (folds, C, k)."""
        fold, c_index, column = (torch.from_numpy(i.ravel()) for i in np.indices(self.shape))
        if self.shared:
            problems = Problems(self.columns, column, self.costs[c_index], fold)
        else:  # folds differ by label: a held-out row has the sign 0
            held_out = self.folds == np.arange(self.settings.folds)[:, None, None]
            masked = np.where(held_out, np.float32(0), self.targets.columns).reshape(-1, len(self.features))
            rows, none = fold * self.shape[2] + column, torch.full_like(fold, -1)
            problems = Problems(torch.from_numpy(masked), rows, self.costs[c_index], none)
        return self._solve(problems).shaped(*self.shape)

    def refit(self, weights: Weights, choice: Integers) -> Weights:
        """Fit on all rows with the chosen C of each group, starting from the mean over its folds."""
        c_index = np.empty(self.shape[2], np.int64)
        for group, best in zip(self.targets.groups(), choice, strict=True):
            c_index[group] = best
        numbers = np.arange(self.shape[2])
        start = Weights(
            weights.vectors[:, c_index, numbers].mean(axis=0),
            weights.intercepts[:, c_index, numbers].mean(axis=0),
            weights.gaps[0, c_index, numbers],
        )
        costs, which = self.costs[torch.from_numpy(c_index)], torch.from_numpy(numbers)
        return self._solve(Problems(self.columns, which, costs, torch.full_like(which, -1)), start)

    def scores(self, weights: Weights) -> Doubles:
        """Score the fitted weights on every held-out fold -> (C, folds, g)."""
        groups = self.targets.groups()

        def score(index: tuple[int, int]) -> Doubles:
            fold, number = index
            group = groups[number]
            held_out = self.folds[0 if self.shared else number] == fold
            vectors, shifts = weights.vectors[fold][:, group], weights.intercepts[fold][:, group]
            flat = torch.from_numpy(vectors.astype(np.float32).reshape(-1, vectors.shape[2]))
            products = inner_products(torch.from_numpy(self.features[held_out]), flat).numpy()
            decisions = (products + shifts.reshape(-1)).reshape(-1, *shifts.shape).swapaxes(0, 1)
            return _scores(self.targets, group, held_out, decisions)  # of decisions (C, n, k)

        fold_scores = map_threads(score, list(np.ndindex(self.shape[0], len(groups))))
        return np.stack(fold_scores, axis=1).reshape(self.shape[1], self.shape[0], len(groups))

    def _solve(self, problems: Problems, start: Weights | None = None) -> Weights:
        return self.solver.solve(problems, LOSSES[self.settings.loss], self.settings.tolerance, start)


def _scores(targets: inputs.ProbeTargets, group: Integers, held_out: NDArray[np.bool_], decisions: Doubles) -> Doubles:
    """Score the decisions (C, n, k) of one group on one held-out fold -> (C,)."""
    if targets.kind == "values":
        from sklearn.metrics import r2_score

        truth = targets.truth[held_out][:, group[0]]
        return np.array([r2_score(truth, guesses) for guesses in decisions[:, :, 0]])
    truth = targets.truth if targets.kind == "classes" else targets.truth[:, group[0]].astype(np.int64)
    seen = np.unique(truth[~held_out])
    if len(seen) < 2:
        return np.full(len(decisions), np.nan)
    if decisions.shape[2] > 1:
        unseen = np.setdiff1d(np.arange(decisions.shape[2]), seen)
        decisions[:, :, unseen] = -np.inf
    means: Doubles = (inputs.choose_classes(decisions) == truth[held_out]).mean(axis=1)
    return means


def _describe_problems(targets: inputs.ProbeTargets, folds: Integers) -> tuple[str, ...]:
    """Return notes on constant labels, and on classes that some fold's training part lacks."""
    if targets.kind == "values":
        return ()
    notes = []
    constant = targets.constant()
    if len(constant):
        notes.append(f"{len(constant)} labels are constant and were not fitted (first: column {constant[0]})")
    columns: Sequence[NDArray[Any]] = [targets.truth] if targets.kind == "classes" else list(targets.truth.T)
    rare = lacking = 0
    for number, (column, fold) in enumerate(zip(columns, folds, strict=True)):
        if number in constant and targets.kind == "labels":
            continue
        classes, counts = np.unique(column, return_counts=True)
        rare += int((counts < fold.max() + 1).sum())
        for part in range(int(fold.max()) + 1):
            lacking += len(classes) - len(np.unique(column[fold != part]))
    if rare:
        notes.append(f"{rare} classes have fewer rows than there are folds")
    if lacking:
        notes.append(f"{lacking} times a fold's training part lacked a class, which is then never predicted")
    return tuple(notes)


def _search_with_sklearn(
    features: Floats, targets: inputs.ProbeTargets, settings: ProbeSettings, notes: Sequence[str]
) -> GridSearchResult:
    """Run GridSearchCV, the reference implementation, once per choice of C."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC, LinearSVR

    margins = LOSSES[settings.loss].margins
    if settings.solver == "published":
        with import_extra("bench", "the published solver of numbers"):
            from sciprism.probes.published import PublishedRegression

        model: Any = PublishedRegression(random_state=settings.seed)
    else:
        model = LinearSVC() if margins else LinearSVR(epsilon=0.0)
        intercept = settings.intercept or settings.solver == "intercept"
        options = {"fit_intercept": intercept, "max_iter": settings.iterations, "random_state": settings.seed}
        model.set_params(loss=settings.loss, dual="auto", **options)
    grid, scoring = {"C": list(settings.grid)}, "accuracy" if margins else "r2"
    groups, constant = targets.groups(), set(targets.constant().tolist())
    vectors = np.zeros((len(targets.columns), features.shape[1]))
    intercepts = np.zeros(len(targets.columns))
    best = np.full(len(groups), settings.grid[0])
    scores = np.full((len(settings.grid), settings.folds, len(groups)), np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, group in enumerate(groups):
            if number in constant:
                continue
            search = GridSearchCV(model, grid, cv=settings.folds, scoring=scoring)
            search.fit(features, targets.truth if targets.kind == "classes" else targets.truth[:, number])
            best_model = search.best_estimator_
            vectors[group], intercepts[group] = best_model.coef_, best_model.intercept_
            best[number] = search.best_params_["C"]
            for fold in range(settings.folds):
                scores[:, fold, number] = search.cv_results_[f"split{fold}_test_score"]
    kinds = Counter(warning.category.__name__ for warning in caught)
    warned = (f"scikit-learn warned {count} times: {name}" for name, count in kinds.items())
    return GridSearchResult(inputs.build_probe(targets, vectors, intercepts), best, scores, math.nan, (*notes, *warned))


def fit(
    features: Floats,
    targets: Floats,
    *,
    loss: LossName,
    cost: float | Sequence[float],
    intercept: bool,
    tolerance: float = TOLERANCE,
) -> Weights:
    """Fit one probe per column of targets (n, k) on features (n, d) -> weights of k problems.

    targets: +-1 (0: the problem ignores the row) for the hinge losses, real numbers for
    "epsilon_insensitive". cost: liblinear's C, one or one per column. Every problem ends at a relative duality gap
    below tolerance, or at the limit of double precision; see `gaps`.
    """
    features, signs = inputs.check_features(features), check_targets(targets, loss, len(features))
    if not len(features):
        raise InputError("no rows to fit a probe on; give at least one")
    columns = torch.from_numpy(signs.T.copy())
    count = len(columns)
    problems = Problems(columns, torch.arange(count), check_costs(cost, count), held_out=torch.full((count,), -1))
    return Solver(features, intercept=intercept, problems=count).solve(problems, LOSSES[loss], tolerance)


def check_costs(cost: float | Sequence[float], count: int) -> Tensor:
    """Return C of each of count problems (p,); InputError unless it is above 0."""
    costs = torch.as_tensor(cost, dtype=torch.double).expand(count)
    if not bool(((costs > 0) & costs.isfinite()).all()):
        raise InputError(f"C is {cost}; give numbers above 0")
    return costs


def check_targets(targets: Floats, loss: LossName, rows: int) -> Floats:
    """Return targets (n, k) as float32, +-1 or 0 for the hinges and finite numbers for real targets."""
    if targets.ndim != 2 or len(targets) != rows:
        raise InputError(f"targets have shape {targets.shape}; give one row for each of the {rows} rows of features")
    checked = np.ascontiguousarray(targets, np.float32)
    if LOSSES[loss].margins and not np.isin(checked, (-1, 0, 1)).all():
        raise InputError(f"targets of the loss {loss} must be -1 or 1, or 0 for an ignored row")
    if not np.isfinite(checked).all():
        raise InputError("targets hold NaN, infinity or a number beyond float32; remove these rows")
    return checked


def fit_probes(
    features: NDArray[np.floating],
    targets: NDArray[Any],
    subsets: Sequence[Integers],
    *,
    loss: LossName = "squared_hinge",
    cost: float = 1.0,
    intercept: bool = False,
) -> list[inputs.Probe]:
    """Fit one probe on each subset (row numbers) of features (n, d), with C = cost.

    targets as in `grid_search`. A class that a subset lacks is never predicted by its probe; a subset with
    a single class is an InputError. A label that is constant in a subset is always predicted so.
    """
    rows = inputs.check_features(features)
    checked = inputs.read_targets(targets, len(rows), LOSSES[loss].margins)
    columns = np.ascontiguousarray(checked.columns.T)

    def fit_one(number: int) -> inputs.Probe:
        some = subsets[number]
        options: dict[str, Any] = {"loss": loss, "cost": cost, "intercept": intercept, "tolerance": SUBSET_TOLERANCE}
        weights = fit(rows[some], columns[some], **options)
        return inputs.build_probe(checked, weights.vectors, weights.intercepts, some, f"subset {number}")

    return map_threads(fit_one, range(len(subsets)))

"""Grid search: choose C by cross-validation and fit on all rows, all folds, classes and C at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Integers, inner_products
from sciprism.parallel import map_threads
from sciprism.probes.folds import plain_folds, stratified_folds
from sciprism.probes.losses import LOSSES
from sciprism.probes.probe import Probe, build_probe, choose_classes
from sciprism.probes.settings import ProbeSettings
from sciprism.probes.sklearn_search import sklearn_grid_search
from sciprism.probes.solver import Problems, Solver
from sciprism.probes.targets import ProbeTargets, read_targets
from sciprism.probes.weights import Weights, check_features


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """A fitted probe, the best C of each choice (g,), and the scores behind it.

    Classes share one choice of C; each label or value has its own. scores (C, folds, g): of each held-out
    fold, NaN where a fold's training part has one class only. gap: the largest relative duality gap of all
    problems (NaN with scikit-learn, which reports none). notes: limitations that a report should mention.
    """

    probe: Probe
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
    rows = check_features(features)
    known = read_targets(targets, len(rows), LOSSES[settings.loss].margins)
    folds = _assign_folds(known, settings.folds)
    notes = _describe_problems(known, folds)
    if settings.solver == "sklearn":
        probe, best, scores, more = sklearn_grid_search(rows, known, settings)
        return GridSearchResult(probe, best, scores, float("nan"), (*notes, *more))
    search = _CrossValidation(rows, known, folds, settings)
    weights = search.validate()
    scores = search.scores(weights)
    choice = choose_c(scores)
    last = search.refit(weights, choice)
    gap = float(max(weights.gaps.max(), last.gaps.max()))
    if gap > settings.tolerance:
        late = int((weights.gaps > settings.tolerance).sum() + (last.gaps > settings.tolerance).sum())
        notes = (*notes, f"{late} problems ended above the tolerance; the largest relative gap is {gap:.1e}")
    probe = build_probe(known, last.vectors, last.intercepts)
    return GridSearchResult(probe, np.asarray(settings.grid)[choice], scores, gap, notes)


def choose_c(scores: Doubles) -> Integers:
    """Return the position of the best C (g,) by mean scores (C, folds, g); the first of equals or NaN."""
    means = scores.mean(axis=1)
    best: Integers = np.where(np.isnan(means), -np.inf, means).argmax(axis=0)
    return best


class _CrossValidation:
    """The problems of one grid search, in the order fold, C, column."""

    def __init__(self, features: Floats, known: ProbeTargets, folds: Integers, settings: ProbeSettings) -> None:
        self.features, self.known, self.folds, self.settings = features, known, folds, settings
        self.shape = (settings.folds, len(settings.grid), len(known.columns))
        self.shared = len(folds) == 1
        self.columns = torch.from_numpy(known.columns)
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
            masked = np.where(held_out, np.float32(0), self.known.columns).reshape(-1, len(self.features))
            problems = Problems(
                torch.from_numpy(masked),
                fold * self.shape[2] + column,
                self.costs[c_index],
                torch.full_like(fold, -1),
            )
        return self._solve(problems).shaped(*self.shape)

    def refit(self, weights: Weights, choice: Integers) -> Weights:
        """Fit on all rows with the chosen C of each group, starting from the mean over its folds."""
        c_index = np.empty(self.shape[2], np.int64)
        for group, best in zip(self.known.groups(), choice, strict=True):
            c_index[group] = best
        numbers = np.arange(self.shape[2])
        start = Weights(
            weights.vectors[:, c_index, numbers].mean(axis=0),
            weights.intercepts[:, c_index, numbers].mean(axis=0),
            weights.gaps[0, c_index, numbers],
            weights.iterations[0, c_index, numbers],
        )
        costs, which = self.costs[torch.from_numpy(c_index)], torch.from_numpy(numbers)
        return self._solve(Problems(self.columns, which, costs, torch.full_like(which, -1)), start)

    def scores(self, weights: Weights) -> Doubles:
        """Score the fitted weights on every held-out fold -> (C, folds, g)."""
        groups = self.known.groups()

        def score(index: tuple[int, int]) -> Doubles:
            fold, number = index
            group = groups[number]
            held_out = self.folds[0 if self.shared else number] == fold
            vectors, shifts = weights.vectors[fold][:, group], weights.intercepts[fold][:, group]
            flat = torch.from_numpy(vectors.astype(np.float32).reshape(-1, vectors.shape[2]))
            products = inner_products(torch.from_numpy(self.features[held_out]), flat).numpy()
            decisions = (products + shifts.reshape(-1)).reshape(-1, *shifts.shape).swapaxes(0, 1)
            return _scores(self.known, group, held_out, decisions)  # of decisions (C, n, k)

        found = map_threads(score, list(np.ndindex(self.shape[0], len(groups))))
        return np.stack(found, axis=1).reshape(self.shape[1], self.shape[0], len(groups))

    def _solve(self, problems: Problems, start: Weights | None = None) -> Weights:
        return self.solver.solve(problems, LOSSES[self.settings.loss], self.settings.tolerance, start)


def _scores(known: ProbeTargets, group: Integers, held_out: NDArray[np.bool_], decisions: Doubles) -> Doubles:
    """Score the decisions (C, n, k) of one group on one held-out fold -> (C,)."""
    if known.kind == "values":
        return r2(known.truth[held_out][:, group[0]], decisions[:, :, 0])
    truth = known.truth if known.kind == "classes" else known.truth[:, group[0]].astype(np.int64)
    seen = np.unique(truth[~held_out])
    if len(seen) < 2:
        return np.full(len(decisions), np.nan)
    if decisions.shape[2] > 1:
        unseen = np.setdiff1d(np.arange(decisions.shape[2]), seen)
        decisions[:, :, unseen] = -np.inf
    means: Doubles = (choose_classes(decisions) == truth[held_out]).mean(axis=1)
    return means


def r2(truth: Doubles, guesses: Doubles) -> Doubles:
    """Return R2 of guesses (C, n) of truth (n,) -> (C,); 1 or 0 where the truth is constant."""
    errors = ((guesses - truth) ** 2).sum(axis=1)
    spread = ((truth - truth.mean()) ** 2).sum()
    if spread == 0:
        return np.where(errors == 0, 1.0, 0.0)
    found: Doubles = 1 - errors / spread
    return found


def _assign_folds(known: ProbeTargets, folds: int) -> Integers:
    """Return the fold of each row: (1, n), or (k, n) if every label has its own folds."""
    if known.kind == "values":
        return plain_folds(len(known.truth), folds)[None]
    if known.kind == "classes":
        return stratified_folds(known.truth, folds)[None]
    constant = set(known.constant().tolist())
    return np.stack(
        [
            plain_folds(len(known.truth), folds) if number in constant else stratified_folds(column, folds)
            for number, column in enumerate(known.truth.T)
        ]
    )


def _describe_problems(known: ProbeTargets, folds: Integers) -> tuple[str, ...]:
    """Return notes on constant labels, and on classes that some fold's training part lacks."""
    if known.kind == "values":
        return ()
    notes = []
    constant = known.constant()
    if len(constant):
        notes.append(f"{len(constant)} labels are constant and were not fitted (first: column {constant[0]})")
    columns: Sequence[NDArray[Any]] = [known.truth] if known.kind == "classes" else list(known.truth.T)
    rare = lacking = 0
    for number, (column, fold) in enumerate(zip(columns, folds, strict=True)):
        if number in constant and known.kind == "labels":
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

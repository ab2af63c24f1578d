"""Choose C by cross-validation and fit on all rows: every fold, class and value of C at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats
from sciprism.cores import on_all_cores
from sciprism.index.matmul import inner_products
from sciprism.probes.folds import plain_folds, stratified_folds
from sciprism.probes.losses import LOSSES
from sciprism.probes.probe import Probe, build_probe, chosen_classes
from sciprism.probes.reference import reference_search
from sciprism.probes.settings import ProbeSettings
from sciprism.probes.solver import Problems, Solver
from sciprism.probes.targets import Targets, read_targets
from sciprism.probes.weights import Integers, Weights, checked_features


@dataclass(frozen=True, slots=True)
class Fitted:
    """A probe, the C of each choice (g,), and how it was found.

    There is one choice for classes, and one per label or value. scores (C, folds, g): of each held-out fold,
    NaN where a fold's training part has one class only. gap: the largest relative duality gap of all
    problems (NaN with scikit-learn, which reports none). notes: what a reader of the score should know.
    """

    probe: Probe
    best: Doubles
    scores: Doubles
    gap: float
    notes: tuple[str, ...]


def grid_search(
    features: NDArray[np.floating], targets: NDArray[Any], settings: ProbeSettings | None = None
) -> Fitted:
    """Fit a probe on features (n, d) with the C that does best in cross-validation (GridSearchCV's rules).

    targets: classes (n,), labels (n, k) of 0 and 1, or, with the loss "epsilon_insensitive", values (n,) or
    (n, k). Folds are not shuffled, and stratified except for values. The first of equally good C is taken; a
    fold whose training part has one class alone has no score, and then the first C is taken. Labels that
    never change are not fitted: their probe always says the same.
    """
    settings = settings or ProbeSettings()
    rows = checked_features(features)
    known = read_targets(targets, len(rows), LOSSES[settings.loss].margins)
    folds = _folds(known, settings.folds)
    notes = _notes(known, folds)
    if settings.solver == "sklearn":
        probe, best, scores, more = reference_search(rows, known, settings)
        return Fitted(probe, best, scores, float("nan"), (*notes, *more))
    search = _Search(rows, known, folds, settings)
    weights = search.validate()
    scores = search.scores(weights)
    choice = choose(scores)
    last = search.refit(weights, choice)
    gap = float(max(weights.gaps.max(), last.gaps.max()))
    if gap > settings.tolerance:
        late = int((weights.gaps > settings.tolerance).sum() + (last.gaps > settings.tolerance).sum())
        notes = (*notes, f"{late} problems ended above the tolerance; the largest relative gap is {gap:.1e}")
    probe = build_probe(known, last.vectors, last.intercepts)
    return Fitted(probe, np.asarray(settings.grid)[choice], scores, gap, notes)


def choose(scores: Doubles) -> Integers:
    """Return the place of the best C (g,) by the mean of scores (C, folds, g); the first of equals or NaN."""
    means = scores.mean(axis=1)
    best: Integers = np.where(np.isnan(means), -np.inf, means).argmax(axis=0)
    return best


class _Search:
    """One grid search: its problems in the order fold, C, column."""

    def __init__(self, features: Floats, known: Targets, folds: Integers, settings: ProbeSettings) -> None:
        self.features, self.known, self.folds, self.settings = features, known, folds, settings
        self.shape = (settings.folds, len(settings.grid), len(known.columns))
        self.shared = len(folds) == 1
        parts = [np.flatnonzero(folds[0] == fold) for fold in range(settings.folds)] if self.shared else ()
        self.solver = Solver(features, parts, intercept=settings.intercept, problems=int(np.prod(self.shape)))

    def validate(self) -> Weights:
        """Fit on every fold's training part with every C -> weights (folds, C, k)."""
        fold, place, column = (torch.from_numpy(i.ravel()) for i in np.indices(self.shape))
        columns = torch.from_numpy(self.known.columns)
        costs = torch.tensor(self.settings.grid, dtype=torch.double)[place]
        if self.shared:
            problems = Problems(columns, column, costs, fold)
        else:  # every label has folds of its own: a row held out has the sign 0
            held_out = self.folds == np.arange(self.settings.folds)[:, None, None]
            masked = np.where(held_out, np.float32(0), self.known.columns).reshape(-1, len(self.features))
            problems = Problems(
                torch.from_numpy(masked), fold * len(columns) + column, costs, torch.full_like(fold, -1)
            )
        return self._solve(problems).shaped(*self.shape)

    def refit(self, weights: Weights, choice: Integers) -> Weights:
        """Fit on all rows with the chosen C of each group, starting from the mean of its folds."""
        groups = self.known.groups()
        place = np.empty(self.shape[2], np.int64)
        for group, best in zip(groups, choice, strict=True):
            place[group] = best
        numbers = np.arange(self.shape[2])
        start = Weights(
            weights.vectors[:, place, numbers].mean(axis=0),
            weights.intercepts[:, place, numbers].mean(axis=0),
            weights.gaps[0, place, numbers],
            weights.iterations[0, place, numbers],
        )
        costs = torch.tensor(self.settings.grid, dtype=torch.double)[torch.from_numpy(place)]
        which = torch.from_numpy(numbers)
        columns = torch.from_numpy(self.known.columns)
        return self._solve(Problems(columns, which, costs, torch.full_like(which, -1)), start)

    def scores(self, weights: Weights) -> Doubles:
        """Score what was fitted on every held-out fold -> (C, folds, g)."""
        groups = self.known.groups()

        def one(place: tuple[int, int]) -> Doubles:
            fold, number = place
            group = groups[number]
            held_out = self.folds[0 if self.shared else number] == fold
            vectors, shifts = weights.vectors[fold][:, group], weights.intercepts[fold][:, group]
            decisions = _decisions(self.features[held_out], vectors.astype(np.float32), shifts)
            return _scores(self.known, group, held_out, decisions)

        found = on_all_cores(one, list(np.ndindex(self.shape[0], len(groups))))
        return np.stack(found, axis=1).reshape(self.shape[1], self.shape[0], len(groups))

    def _solve(self, problems: Problems, start: Weights | None = None) -> Weights:
        return self.solver.solve(problems, LOSSES[self.settings.loss], self.settings.tolerance, start)


def _decisions(features: Floats, vectors: Floats, intercepts: Doubles) -> Doubles:
    """Return decision values (C, n, k) of vectors (C, k, d)."""
    grid, count, width = vectors.shape
    flat = torch.from_numpy(vectors.reshape(-1, width))
    scores = inner_products(torch.from_numpy(features), flat).numpy() + intercepts.reshape(-1)
    found: Doubles = scores.reshape(-1, grid, count).swapaxes(0, 1)
    return found


def _scores(known: Targets, group: Integers, held_out: NDArray[np.bool_], decisions: Doubles) -> Doubles:
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
    means: Doubles = (chosen_classes(decisions) == truth[held_out]).mean(axis=1)
    return means


def r2(truth: Doubles, guesses: Doubles) -> Doubles:
    """Return 1 - squared error / variance of guesses (C, n) of truth (n,); 1 or 0 where it never varies."""
    errors = ((guesses - truth) ** 2).sum(axis=1)
    spread = ((truth - truth.mean()) ** 2).sum()
    if spread == 0:
        return np.where(errors == 0, 1.0, 0.0)
    found: Doubles = 1 - errors / spread
    return found


def _folds(known: Targets, folds: int) -> Integers:
    """Return the fold of each row, (1, n), or (k, n) where every label has its own."""
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


def _notes(known: Targets, folds: Integers) -> tuple[str, ...]:
    """Say what the data lack: constant labels, and classes that some fold's training part does not have."""
    if known.kind == "values":
        return ()
    notes = []
    constant = known.constant()
    if len(constant):
        notes.append(f"{len(constant)} labels never change and were not fitted (first: column {constant[0]})")
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
        notes.append(f"{lacking} times a fold's training part lacked a class, which it then never predicts")
    return tuple(notes)

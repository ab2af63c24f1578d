"""The grid search by scikit-learn, the reference implementation."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np

from sciprism.arrays import Doubles, Floats
from sciprism.errors import MissingExtraError
from sciprism.probes.probe import Probe, build_probe
from sciprism.probes.settings import ProbeSettings
from sciprism.probes.targets import ProbeTargets


def sklearn_grid_search(
    features: Floats, known: ProbeTargets, settings: ProbeSettings
) -> tuple[Probe, Doubles, Doubles, tuple[str, ...]]:
    """Run GridSearchCV once per choice of C -> probe, best C (g,), scores (C, folds, g) and notes."""
    groups, constant = known.groups(), set(known.constant().tolist())
    vectors = np.zeros((len(known.columns), features.shape[1]))
    intercepts = np.zeros(len(known.columns))
    best = np.full(len(groups), settings.grid[0])
    scores = np.full((len(settings.grid), settings.folds, len(groups)), np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, group in enumerate(groups):
            if number in constant:
                continue
            search = _grid_search_cv(settings)
            search.fit(features, known.truth if known.kind == "classes" else known.truth[:, number])
            model = search.best_estimator_
            vectors[group], intercepts[group] = model.coef_, model.intercept_
            best[number] = search.best_params_["C"]
            for fold in range(settings.folds):
                scores[:, fold, number] = search.cv_results_[f"split{fold}_test_score"]
    kinds = Counter(warning.category.__name__ for warning in caught)
    notes = tuple(f"scikit-learn warned {count} times: {name}" for name, count in kinds.items())
    return build_probe(known, vectors, intercepts), best, scores, notes


def _grid_search_cv(settings: ProbeSettings) -> Any:
    try:
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import LinearSVC, LinearSVR
    except ImportError as error:
        raise MissingExtraError("bench", 'the probe solver "sklearn"') from error
    model = LinearSVR(epsilon=0.0) if settings.loss == "epsilon_insensitive" else LinearSVC()
    model.set_params(
        loss=settings.loss,
        dual="auto",
        fit_intercept=settings.intercept,
        max_iter=settings.iterations,
        random_state=settings.seed,
    )
    return GridSearchCV(model, {"C": list(settings.grid)}, cv=settings.folds, scoring=settings.selection)

"""The regression of SciRepEval's published tables: `LinearSVR` of sklearn-contrib-lightning 0.6.2.post0, repeated.

Its dual coordinate descent keeps two dual variables a row, at alpha[2 i] and alpha[2 i + 1] as it starts. Each pass
visits alpha[s] in order, but reads row A[s mod n] of a list A that is shuffled again before the pass: a variable
meets another row each time. So the method ends far from the optimum of its objective, whatever the tolerance, and a
converged solver gives other numbers. Use it beside printed numbers alone.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from sciprism.arrays import Doubles, Integers

TOLERANCE, MAX_PASSES, NEGLIGIBLE = 1e-3, 1000, 1e-12


class PublishedRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn regressor with the published update rule: epsilon 0, no intercept. C: weight of the loss."""

    intercept_ = 0.0

    def __init__(self, C: float = 1.0, random_state: int = 42) -> None:  # noqa: N803
        self.C, self.random_state = C, random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> PublishedRegression:  # noqa: N803
        """Fit on features (n, d) and values (n,)."""
        rows, values = np.ascontiguousarray(X, np.float64), np.asarray(y, np.float64)
        order = np.arange(len(rows))
        random = np.random.RandomState(self.random_state)
        self.coef_, alpha = np.zeros(rows.shape[1]), np.zeros(2 * len(rows))
        squares, first = (rows**2).sum(axis=1), 0.0
        for number in range(MAX_PASSES):
            random.shuffle(order)
            violation = _descend(rows, values, squares, order, self.coef_, alpha, self.C)
            first = violation if number == 0 else first
            if violation <= TOLERANCE * first:
                break
        return self

    def predict(self, X: ArrayLike) -> Doubles:  # noqa: N803
        """Predict the values (n,) of features (n, d)."""
        return np.asarray(np.asarray(X, np.float64) @ self.coef_)


@numba.njit(error_model="numpy")
def _descend(
    rows: Doubles, values: Doubles, squares: Doubles, order: Integers, weights: Doubles, alpha: Doubles, cost: float
) -> float:
    """Do one pass; change weights (d,) and alpha (2 n,) and return the sum of the violations."""
    violation = 0.0
    for s in range(len(alpha)):
        i, sign, before = order[s % len(rows)], 1 - 2 * (s % 2), alpha[s]
        gradient = sign * (rows[i] @ weights - values[i])
        if (before == 0 and gradient > 0) or (before == cost and gradient < 0):
            continue
        violation += abs(gradient)
        if abs(gradient) > NEGLIGIBLE:
            alpha[s] = min(max(before - gradient / squares[i], 0.0), cost)
            weights += sign * (alpha[s] - before) * rows[i]
    return violation

"""Fitted weights against liblinear's, by the value of liblinear's own objective in double precision."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from sciprism.errors import InputError
from sciprism.probes import fit, fit_probes

LOSSES = ("squared_hinge", "hinge", "epsilon_insensitive")


def objective(loss, features, targets, vectors, intercept, cost) -> float:
    """|w|^2 / 2 + C sum loss, written down anew from liblinear's paper; the intercept is part of w."""
    x, w = features.astype(np.float64), vectors.astype(np.float64)
    slack = targets - (x @ w + float(intercept))
    if loss != "epsilon_insensitive":
        slack = np.maximum(0, 1 - targets * (x @ w + float(intercept)))
    each = slack**2 if loss == "squared_hinge" else np.abs(slack)
    return (w @ w + float(intercept) ** 2) / 2 + cost * each.sum()


def liblinear(loss, features, targets, cost, intercept) -> float:
    """The objective that scikit-learn reaches with a tight tolerance."""
    svm = pytest.importorskip("sklearn.svm")
    same = {"C": cost, "fit_intercept": intercept, "tol": 1e-8, "max_iter": 1_500, "random_state": 0}
    if loss == "epsilon_insensitive":
        model = svm.LinearSVR(epsilon=0, loss=loss, dual=True, **same)
    else:
        model = svm.LinearSVC(loss=loss, dual=loss == "hinge" or len(features) < features.shape[1], **same)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(features.astype(np.float64), targets)
    return objective(loss, features, targets, model.coef_.ravel(), np.ravel(model.intercept_)[0], cost)


def ours(loss, features, targets, cost, intercept) -> tuple[float, float]:
    found = fit(features, targets[:, None].astype(np.float32), loss=loss, cost=cost, intercept=intercept)
    value = objective(loss, features, targets, found.vectors[0], found.intercepts[0], cost)
    return value, float(found.gaps[0])


def rows(numbers, count, width, *, scale=1.0, shift=0.0) -> np.ndarray:
    spread = 1 / np.sqrt(1 + np.arange(width))
    return (scale * (numbers.standard_normal((count, width)) * spread + shift)).astype(np.float32)


def wanted(loss, numbers, features, noise=0.5) -> np.ndarray:
    values = features @ numbers.standard_normal(features.shape[1]).astype(np.float32)
    values = values / (values.std() + 1e-9) + noise * numbers.standard_normal(len(values))
    if loss == "epsilon_insensitive":
        return values.astype(np.float32)
    signs = np.where(values > np.median(values), 1.0, -1.0)
    signs[:2] = 1, -1
    return signs.astype(np.float32)


@st.composite
def problems(draw):
    loss = draw(st.sampled_from(LOSSES))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, width = draw(st.integers(3, 50)), draw(st.sampled_from([1, 3, 12, 60]))
    scale, shift = draw(st.sampled_from([(1.0, 0.0), (0.01, 0.0), (1.0, 2.0), (5.0, 1.0)]))
    features = rows(numbers, count, width, scale=scale, shift=shift)
    if draw(st.booleans()):  # the same papers again, with labels of their own
        features = np.concatenate([features, features[: count // 2]])
    targets = wanted(loss, numbers, features, noise=draw(st.sampled_from([0.0, 0.5, 3.0])))
    cost = draw(st.sampled_from([1e-4, 1e-2, 1.0, 10.0]))
    return loss, features, targets, cost, draw(st.booleans())


@given(problem=problems())
@settings(max_examples=30, deadline=None)
def test_reaches_the_optimum_of_liblinear(problem) -> None:
    value, gap = ours(*problem)
    assert gap <= 1e-4
    assert value <= liblinear(*problem) * (1 + 1.05e-4) + 1e-12


def test_probes_of_subsets_predict_what_scikit_learns_do() -> None:
    """Vectors that share most of their direction, as encoders give them: near ties are decided alike."""
    draw = np.random.RandomState(0)
    classes, centres = draw.randint(0, 20, 3000), draw.randn(20, 384)
    features = centres[classes] * 0.18 + draw.randn(3000, 384) + 1.5 * draw.randn(384)
    features = (features / np.linalg.norm(features, axis=1, keepdims=True)).astype(np.float32)
    subsets = [draw.choice(2000, 64, replace=False) for _ in range(4)]
    for probe, rows in zip(fit_probes(features, classes, subsets), subsets, strict=True):
        model = LinearSVC(fit_intercept=False, tol=1e-10, max_iter=10**6).fit(features[rows], classes[rows])
        np.testing.assert_array_equal(probe.predict(features[2000:]), model.predict(features[2000:]))


def test_probes_of_subsets_never_predict_a_class_they_did_not_see() -> None:
    numbers = np.random.default_rng(4)
    labels = np.repeat(["a", "b", "c"], 20)
    features = rows(numbers, 60, 8) + 3 * np.eye(8, dtype=np.float32)[np.repeat([0, 1, 2], 20)]
    probes = fit_probes(features, labels, [np.arange(60), np.arange(40), np.arange(20, 60)])
    assert (probes[0].predict(features) == labels).mean() > 0.9
    assert set(probes[1].predict(features)) == {"a", "b"} and set(probes[2].predict(features)) == {"b", "c"}
    with pytest.raises(InputError, match=r"subset 1 .* one class only"):
        fit_probes(features, labels, [np.arange(60), np.arange(5)])
    constant = np.stack([labels == "a", labels == "b"], axis=1)
    [probe] = fit_probes(features, constant, [np.arange(20)])
    assert (probe.predict(features) == [1, 0]).all()


FEATURES, SIGNS = np.ones((4, 2), np.float32), np.array([[1], [-1], [1], [-1]], np.float32)


@pytest.mark.parametrize(
    ("features", "targets", "cost", "message"),
    [
        (np.where(np.eye(4, 2) > 0, np.nan, FEATURES), SIGNS, 1.0, "2 of 4 rows hold NaN"),
        (FEATURES, 3 * SIGNS, 1.0, "must be -1 or 1"),
        (FEATURES, SIGNS[:3], 1.0, "one row for each of the 4"),
        (FEATURES, SIGNS, 0.0, "C is 0"),
        (FEATURES[:0], SIGNS[:0], 1.0, "no rows"),
    ],
)
def test_wrong_input_is_told(features, targets, cost, message) -> None:
    with pytest.raises(InputError, match=message):
        fit(features, targets, loss="hinge", cost=cost, intercept=False)

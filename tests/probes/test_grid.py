"""Grid search against scikit-learn's GridSearchCV: folds, scores, the chosen C, predictions, odd data."""

import warnings

import numpy as np
import pytest

from sciprism.errors import InputError
from sciprism.probes import ProbeSettings, grid_search
from sciprism.probes.published import PublishedRegression

GRID = (1e-3, 1e-1, 10.0)


def papers(rows: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(seed)
    labels = numbers.integers(0, classes, rows)
    vectors = numbers.standard_normal((rows, 12)) + 2.0 * numbers.standard_normal((classes, 12))[labels]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels


def peer(model, features, targets):
    """scikit-learn's search over GRID, fitted."""
    selection = pytest.importorskip("sklearn.model_selection")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return selection.GridSearchCV(model, {"C": list(GRID)}, cv=3).fit(features, targets)


def classifier(loss: str, intercept: bool):
    svm = pytest.importorskip("sklearn.svm")
    return svm.LinearSVC(
        loss=loss, dual=loss == "hinge", fit_intercept=intercept, tol=1e-6, max_iter=3000, random_state=0
    )


def folds_of(search) -> np.ndarray:
    return np.stack([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)], axis=1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("classes", [2, 4])
def test_classes_as_scikit_learn(classes, loss, intercept) -> None:
    features, numbers = papers(420, classes)
    labels = np.array(["zeta", "alpha", "mu", "beta"])[numbers]
    fitted = grid_search(features[:300], labels[:300], ProbeSettings(loss=loss, grid=GRID, intercept=intercept))
    search = peer(classifier(loss, intercept), features[:300], labels[:300])
    assert fitted.best.tolist() == [search.best_params_["C"]]
    np.testing.assert_allclose(fitted.scores[:, :, 0], folds_of(search), atol=0.011)  # one paper of 100
    assert fitted.gap <= 1e-4 and not fitted.notes
    guesses, expected = fitted.probe.predict(features[300:]), search.predict(features[300:])
    assert guesses.dtype == labels.dtype and (guesses == expected).mean() >= 0.99


def test_labels_each_have_their_own_folds_and_c() -> None:
    features, numbers = papers(300, 5)
    given_ = np.stack([numbers == 0, numbers < 2, np.random.default_rng(1).random(300) < 0.3], axis=1)
    fitted = grid_search(features, given_.astype(np.int64), ProbeSettings(grid=GRID, intercept=True))
    for column in range(3):
        search = peer(classifier("squared_hinge", True), features, given_[:, column])
        np.testing.assert_allclose(fitted.scores[:, :, column], folds_of(search), atol=0.011)
        assert fitted.best[column] == search.best_params_["C"]
        assert (fitted.probe.predict(features)[:, column] == search.predict(features)).mean() >= 0.99


def test_values_as_scikit_learn() -> None:
    svm = pytest.importorskip("sklearn.svm")
    features, _ = papers(300, 3)
    numbers = np.random.default_rng(0)
    values = features @ numbers.standard_normal((12, 2)) + 0.3 * numbers.standard_normal((300, 2)) + 5
    fitted = grid_search(features, values, ProbeSettings(loss="epsilon_insensitive", grid=GRID, intercept=True))
    for column in range(2):
        model = svm.LinearSVR(epsilon=0, tol=1e-6, max_iter=3000, random_state=0)
        search = peer(model, features, values[:, column])
        assert fitted.best[column] == search.best_params_["C"]
        np.testing.assert_allclose(fitted.scores[:, :, column], folds_of(search), atol=5e-3)
        np.testing.assert_allclose(fitted.probe.predict(features)[:, column], search.predict(features), atol=0.02)


def test_values_by_the_solver_of_the_published_tables() -> None:
    """What sklearn-contrib-lightning 0.6.2.post0 gives in SciRepEval's code on the same numbers."""
    draw = np.random.RandomState(0)
    features = draw.randn(90, 8)
    values = features @ draw.randn(8) + draw.randn(90) ** 3
    for cost, want in (
        (1e-3, [-0.456931, -0.420818, 0.273651, -0.470275]),
        (0.1, [-0.531936, -0.276053, 0.169345, -0.424358]),
        (10.0, [-0.732121, 0.657235, -0.040591, -1.382163]),
    ):
        fitted = PublishedRegression(C=cost).fit(features[:60], values[:60])
        np.testing.assert_allclose(fitted.coef_[:4], want, atol=1e-6)
    found = grid_search(
        features[:60], values[:60], ProbeSettings(loss="epsilon_insensitive", solver="published")
    ).probe.predict(features[60:])
    np.testing.assert_allclose(found[:3, 0], [0.18945734, -5.74228499, -1.52298517], rtol=1e-5)


def test_a_class_that_a_training_part_lacks_is_never_predicted_there() -> None:
    features, numbers = papers(90, 3)
    labels = np.where(np.arange(90) == 4, 7, numbers)  # one paper of class 7
    fitted = grid_search(features, labels, ProbeSettings(grid=GRID, intercept=True))
    search = peer(classifier("squared_hinge", True), features, labels)
    np.testing.assert_allclose(fitted.scores[:, :, 0], folds_of(search), atol=0.034)  # one paper of 30
    assert fitted.notes == (
        "1 classes have fewer rows than there are folds",
        "1 times a fold's training part lacked a class, which is then never predicted",
    )
    assert 7 in fitted.probe.classes


def test_a_label_of_one_paper_has_a_fold_without_a_score_and_takes_the_first_c() -> None:
    features, numbers = papers(90, 2)
    given_ = np.stack([numbers, np.arange(90) == 3], axis=1).astype(np.int64)
    fitted = grid_search(features, given_, ProbeSettings(grid=GRID, intercept=True))
    search = peer(classifier("squared_hinge", True), features, given_[:, 1])
    assert np.isnan(fitted.scores[:, :, 1]).any(axis=0).tolist() == np.isnan(folds_of(search)).any(axis=0).tolist()
    assert fitted.best[1] == search.best_params_["C"] == GRID[0]
    assert not np.isnan(fitted.scores[:, :, 0]).any() and len(fitted.notes) == 2


@pytest.mark.parametrize("solver", ["exact", "sklearn"])
def test_labels_that_never_change_are_always_predicted_and_noted(solver) -> None:
    if solver == "sklearn":
        pytest.importorskip("sklearn")
    features, numbers = papers(60, 2)
    given_ = np.stack([np.ones(60), numbers, np.zeros(60)], axis=1)
    fitted = grid_search(features, given_, ProbeSettings(grid=GRID, solver=solver))
    guesses = fitted.probe.predict(features)
    assert (guesses[:, 0] == 1).all() and (guesses[:, 2] == 0).all() and len(np.unique(guesses[:, 1])) == 2
    assert fitted.notes[0] == "2 labels are constant and were not fitted (first: column 0)"


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "epsilon_insensitive"])
def test_the_reference_path_has_the_same_face(loss) -> None:
    pytest.importorskip("sklearn")
    features, numbers = papers(120, 3)
    targets = features[:, 0] * 3 if loss == "epsilon_insensitive" else numbers
    found = [
        grid_search(features, targets, ProbeSettings(loss=loss, grid=GRID, solver=solver))
        for solver in ("exact", "sklearn")
    ]
    assert found[0].scores.shape == found[1].scores.shape == (3, 3, 1)
    np.testing.assert_allclose(found[0].scores, found[1].scores, atol=0.026)
    assert found[0].best == found[1].best and np.isnan(found[1].gap)
    ours, theirs = (each.probe.decide(features) for each in found)
    np.testing.assert_allclose(ours, theirs, atol=0.05)


def test_wrong_input_is_told() -> None:
    features, labels = papers(30, 2)
    for targets, loss, message in (
        (np.full(30, "a"), "squared_hinge", "30 rows are of the class a"),
        (np.stack([labels, labels + 1], axis=1), "squared_hinge", "must hold only 0 and 1"),
        (labels[:20], "squared_hinge", "one row for each of the 30"),
        (np.full(30, np.nan), "epsilon_insensitive", "NaN or infinity"),
    ):
        with pytest.raises(InputError, match=message):
            grid_search(features, targets, ProbeSettings(loss=loss))
    for wrong, message in (
        ({"loss": "log"}, "unknown loss"),
        ({"grid": ()}, "grid of C"),
        ({"grid": (0.0,)}, "grid of C"),
        ({"solver": "x"}, "unknown solver"),
        ({"folds": 1}, "at least 2"),
        ({"tolerance": 0.0}, "tolerance"),
    ):
        with pytest.raises(InputError, match=message):
            ProbeSettings(**wrong)

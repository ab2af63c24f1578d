"""Linear probes on synthetic vectors, against scikit-learn with the published settings."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from build_systems import build_system, spell_vectors
from sciprism.datasets.inputs import ProbeInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.probe import FewShot, ProbeProtocol
from sciprism.evaluation.task import EvaluationContext

VIEW = EvaluationContext(format="classification")
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


def build_labelled(classes=3, count=150, seed=0, spread=0.8):
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, count)
    centres = draw.normal(size=(classes, 4))
    vectors = (centres[labels] + spread * draw.normal(size=(count, 4))).astype(np.float32)
    return vectors, labels


def labelled(vectors, targets, train=100, **more):
    count = len(vectors)
    return ProbeInput(
        ids=[f"p{i}" for i in range(count)],
        items=spell_vectors(vectors),
        targets=targets,
        train=np.arange(train),
        test=np.arange(train, count),
        **more,
    )


@pytest.mark.parametrize("intercept", [False, True])
def test_classes_as_scikit_learn_finds_them(tmp_path, intercept):
    vectors, labels = build_labelled()
    names = [f"class {label}" for label in labels]
    outcome = ProbeProtocol(intercept=intercept).evaluate(labelled(vectors, names), build_system(tmp_path, 4), VIEW)
    search = GridSearchCV(
        LinearSVC(fit_intercept=intercept, random_state=42, max_iter=100_000, tol=1e-8), {"C": list(GRID)}, cv=3
    )
    search.fit(vectors[:100], names[:100])
    want = f1_score(names[100:], search.predict(vectors[100:]), average="macro")
    assert estimate(outcome.item_scores["f1_macro"]) == pytest.approx(want, abs=1e-6)
    assert outcome.details["C"] == [search.best_params_["C"]]
    assert outcome.details["intercept"] is intercept and outcome.details["solver"] == "exact"


def test_years_need_an_intercept_and_standardized_targets(tmp_path):
    """Years near 2000 on vectors of length 1: a line through the origin cannot reach them."""
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(200, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    years = (2000 + 8 * vectors @ draw.normal(size=32) + draw.normal(size=200)).round()
    data, system = labelled(vectors, years.tolist(), train=140), build_system(tmp_path, 32)
    published, own = (
        ProbeProtocol(metric="kendall_tau", loss="epsilon_insensitive", **settings).evaluate(data, system, VIEW)
        for settings in ({}, {"intercept": True, "standardize_targets": True})
    )
    assert estimate(published.item_scores["kendall_tau"]) < 0.3 < 0.7 < estimate(own.item_scores["kendall_tau"])
    gold, predicted = own.item_scores["kendall_tau"].columns.T
    assert np.abs(gold - predicted).mean() < 4  # in years
    assert "hardly vary" in published.details["warnings"][0] and "warnings" not in own.details
    with pytest.raises(InputError, match="remove standardize_targets"):
        ProbeProtocol(standardize_targets=True)


def test_a_probe_below_a_constant_is_a_warning(tmp_path):
    signs = np.array([1.0] * 20 + [-1.0] * 10 + [1.0] * 3 + [-1.0] * 3)
    classes = ["a"] * 20 + ["b"] * 10 + ["b"] * 3 + ["a"] * 3  # the test papers are the other way round
    data = labelled(np.stack([signs, 0 * signs], axis=1), classes, train=30)
    found = ProbeProtocol(metric="accuracy").evaluate(data, build_system(tmp_path), VIEW)
    assert found.details["warnings"] == ["accuracy 0.0000 is below 0.5000, that of one prediction for all papers"]


def test_few_shot_trains_on_stratified_folds_with_c_1(tmp_path):
    vectors, labels = build_labelled(classes=2, seed=3)
    names = ["yes" if label else "no" for label in labels]
    data = labelled(vectors, names, positive="yes")
    outcome = ProbeProtocol(metric="f1_binary", few_shot=(FewShot(size=16, iterations=4),)).evaluate(
        data, build_system(tmp_path, 4), VIEW
    )
    folds = StratifiedKFold(n_splits=7).split(vectors[:100], names[:100])  # 7 = ceil(100 / 16)
    scores = []
    for _, (_, held_out) in zip(range(4), folds, strict=False):
        model = LinearSVC(C=1, fit_intercept=False, max_iter=200_000, tol=1e-9)
        guess = model.fit(vectors[held_out], labels[held_out]).predict(vectors[100:])
        scores.append(f1_score(labels[100:], guess))
    assert list(outcome.item_scores) == ["f1_binary", "f1_binary 16-shot"]
    assert estimate(outcome.item_scores["f1_binary 16-shot"]) == pytest.approx(np.mean(scores), abs=1e-6)


def test_few_shot_by_label_draws_the_papers_that_the_authors_draw(tmp_path):
    """Labels are ordered by number, rows by a set of positions, and the unshuffled folds see that order."""
    draw = np.random.default_rng(7)
    vectors = draw.normal(size=(1500, 4)).astype(np.float32)
    scores = vectors @ draw.normal(size=(4, 12)) + draw.normal(size=(1500, 12))
    truth = (scores > 1.5).astype(int)
    data = labelled(vectors, [tuple(str(c) for c in np.flatnonzero(row)) for row in truth], train=1400)
    protocol = ProbeProtocol(loss="hinge", few_shot=(FewShot(size=4, iterations=2, per_label=True),))
    outcome = protocol.evaluate(data, build_system(tmp_path, 4), VIEW)
    assert outcome.item_scores["f1_macro"].labels == tuple(map(str, range(12)))
    want = []
    for number in range(2):
        np.random.seed(42 + number)
        rows = set()
        for column in truth[:1400].T:
            rows.update(np.random.choice(np.where(column == 1)[0], 4, replace=False).tolist())
        model = LinearSVC(loss="hinge", fit_intercept=False, random_state=42, max_iter=200_000, tol=1e-8)
        search = OneVsRestClassifier(GridSearchCV(model, {"C": list(GRID)}, cv=3))
        search.fit(vectors[list(rows)], truth[list(rows)])
        want.append(f1_score(truth[1400:], search.predict(vectors[1400:]), average="macro"))
    assert estimate(outcome.item_scores["f1_macro 4-shot"]) == pytest.approx(np.mean(want), abs=1e-6)


def test_every_group_has_a_probe_of_its_own(tmp_path):
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(300, 2)).astype(np.float32)
    groups = ["a" if i % 2 else "b" for i in range(300)]
    # what decides is turned round from one group to the other
    targets = ["in" if (x > 0) == (group == "a") else "out" for (x, _), group in zip(vectors, groups, strict=True)]
    data = labelled(vectors, targets, train=200, groups=groups, positive="in")
    outcome = ProbeProtocol().evaluate(data, build_system(tmp_path), VIEW)
    assert estimate(outcome.item_scores["f1_macro"]) > 0.8
    assert outcome.item_scores["f1_macro"].labels == ("a", "b")


def test_groups_are_ranked_by_average_precision(tmp_path):
    draw = np.random.default_rng(1)
    vectors = draw.normal(size=(400, 2)).astype(np.float32)
    groups = ["a" if i % 2 else "b" for i in range(300)] + ["b" if i % 4 else "c" for i in range(100)]
    groups[:40] = ["c"] * 40
    # rare positives; none among the test papers of "c"
    targets = ["1" if x + 0.5 * n > 1.3 else "0" for (x, _), n in zip(vectors, draw.normal(size=400), strict=True)]
    targets[300::4] = ["0"] * 25
    data = labelled(vectors, targets, train=300, groups=groups, positive="1")
    outcome = ProbeProtocol(metric="average_precision").evaluate(data, build_system(tmp_path), VIEW)
    items = outcome.item_scores["average_precision"]
    assert items.ids == ("b",) and outcome.dropped.ids == {"group without a positive test paper": ["c"]}
    train = [i for i in range(300) if groups[i] == "b"]
    test = [i for i in range(300, 400) if groups[i] == "b"]
    labels = np.array(targets) == "1"
    search = GridSearchCV(LinearSVC(fit_intercept=False, max_iter=200_000, tol=1e-9), {"C": list(GRID)}, cv=3)
    search.fit(vectors[train], labels[train])
    want = average_precision_score(labels[test], search.decision_function(vectors[test]))
    assert items.columns[0, 0] == pytest.approx(want, abs=1e-6)


def test_several_metrics_are_of_one_fit(tmp_path):
    vectors, labels = build_labelled()
    data = labelled(vectors, ["yes" if label else "no" for label in labels], positive="yes")
    system, few = build_system(tmp_path, 4), (FewShot(size=16, iterations=2),)
    names = ("accuracy", "f1_binary", "f1_macro")
    several = ProbeProtocol(metric=names, few_shot=few)
    outcome = several.evaluate(data, system, VIEW)
    assert several.metrics == tuple(outcome.item_scores) == (*names, *(f"{name} 16-shot" for name in names))
    for name in names:
        alone = ProbeProtocol(metric=name).evaluate(data, system, VIEW)
        assert estimate(outcome.item_scores[name]) == estimate(alone.item_scores[name])
    with pytest.raises(InputError, match="accuracy does not go with the loss epsilon_insensitive"):
        ProbeProtocol(metric=("r2", "accuracy"), loss="epsilon_insensitive")
    with pytest.raises(InputError, match="name at least one, and each once"):
        ProbeProtocol(metric=("accuracy", "accuracy"))
    with pytest.raises(InputError, match="accuracy is not a metric of data with groups"):
        several.evaluate(replace(data, groups=["a"] * len(data.ids)), system, VIEW)


YES = [("yes", "no")[n % 2] for n in range(150)]


@pytest.mark.parametrize(
    ("settings", "targets", "more", "message"),
    [
        ({}, YES, {"train": 0}, "need both"),
        ({}, ["one"] * 150, {}, "two classes"),
        ({}, ["in"] * 100 + ["out"] * 50, {"groups": ["g"] * 150, "positive": "in"}, "all of one class"),
        ({"metric": "average_precision"}, YES, {"positive": "yes"}, "no groups"),
        ({"metric": "kendall_tau"}, YES, {}, "does not go with the loss"),
    ],
)
def test_bad_data_are_said_plainly(tmp_path, settings, targets, more, message):
    with pytest.raises(InputError, match=message):
        data = labelled(build_labelled()[0], targets, **more)
        ProbeProtocol(**settings).evaluate(data, build_system(tmp_path, 4), VIEW)

"""Matrices, sources and the ranker against plain computations."""

from __future__ import annotations

import json

import numpy as np
import torch

from build_tagging import build_papers, build_vocabulary, label_vectors
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging.evidence import (
    COMPATIBILITY_RIDGE,
    FEATURES,
    RIDGE,
    EvidenceCollector,
    LabelSide,
    NearestPapers,
    PaperSpace,
    Ranker,
    Sources,
    TagMatrix,
    Weighing,
    find_directions,
    learn_terms,
)

TEXTS = ("a b b c", "b c", "c c c d", "a d", "zz", "")


def test_term_weights_by_hand():
    terms = learn_terms(TEXTS, str.split)
    assert set(terms.vocabulary_) == set("abcd"), "zz is in one text alone"
    rows = terms.transform(["b b c unknown", ""]).toarray()
    idf = {word: np.log(7 / (1 + count)) + 1 for word, count in {"b": 2, "c": 3}.items()}
    expected = np.array([(1 + np.log(2)) * idf["b"], idf["c"]])
    columns = [terms.vocabulary_["b"], terms.vocabulary_["c"]]
    np.testing.assert_allclose(rows[0][columns], expected / np.linalg.norm(expected), 1e-6)
    assert not rows[1].any() and not learn_terms(["a", "b", "c", "d"], str.split).transform(["a"]).toarray().any()


def test_directions_are_the_leading_singular_vectors():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{each}" for each in rng.integers(0, 40, 30)) for _ in range(60)]
    matrix = learn_terms(texts, str.split).transform(texts)
    found = find_directions(matrix, 3, rounds=8)
    exact = np.linalg.svd(matrix.toarray(), full_matrices=False)[2][:3].T
    np.testing.assert_allclose(np.abs((found * exact).sum(axis=0)), 1, atol=1e-3)


def test_tag_matrix():
    tags = TagMatrix.build([[2, 0, 2], [], [1]], 4)
    assert [tags[paper].tolist() for paper in range(3)] == [[0, 2], [], [1]]
    assert tags.counts().tolist() == [1, 1, 1, 0]
    assert tags.has(np.array([0, 0, 2]), np.array([2, 1, 1])).tolist() == [1, 0, 1]
    assert [tags.without(np.array([0, 1]))[paper].tolist() for paper in range(3)] == [[2], [], []]
    assert tags.take([2, 0])[0].tolist() == [1]
    assert tags.sizes().tolist() == [2, 0, 1] and len(tags) == 3 and tags.labels == 4


def fit():
    vocabulary, data = build_vocabulary(), build_papers(40)
    side = LabelSide.build(vocabulary.labels, label_vectors(vocabulary))
    collector = EvidenceCollector(vocabulary, side)
    space = PaperSpace.learn(data.papers, data.vectors, directions=8)
    located = space.locate(data.papers, data.vectors)
    matches = collector.find_names(data.papers)
    return collector, data, located, Sources.fit(located, data.tags, side.vectors, matches)


def test_linear_and_compatibility_scores_by_their_formulas():
    collector, data, located, sources = fit()
    dense = data.tags.ones.toarray().astype(float)
    gram = located.astype(float).T @ located
    expected = located @ np.linalg.solve(gram + RIDGE * np.eye(len(gram)), located.T @ dense)
    np.testing.assert_allclose(sources.score_linear(located), expected, atol=1e-3)
    first, second = COMPATIBILITY_RIDGE
    own, counts = collector.side.vectors[sources.seen], dense.sum(axis=0)[sources.seen]
    pulled = located.T @ dense[:, sources.seen] / np.sqrt(counts) @ own
    left = np.linalg.solve(gram + first * np.eye(len(gram)), pulled)
    both = left @ np.linalg.inv(own.T @ own + second * np.eye(own.shape[1]))
    vectors = torch.from_numpy(collector.side.vectors)
    scores = sources.score_compatibility(located, vectors)
    np.testing.assert_allclose(scores, located @ both @ collector.side.vectors.T, atol=1e-3)


def test_name_rates_by_hand():
    _, data, _, sources = fit()
    named = np.array([f"On {name}" in {paper.title for paper in data.papers} for name in ("Galaxies", "nothing")])
    assert named[0] and sources.name_rate[0] > 0.95, "a paper that names Galaxies has the label"
    assert (sources.name_rate <= 1).all()


def test_the_nearest_papers_vote():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(50, 6)).astype(np.float32), rng.normal(size=(7, 6)).astype(np.float32)
    votes = NearestPapers(rows, TagMatrix.build([[i % 3] for i in range(50)], 3)).vote(queries)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)  # noqa: E731
    exact = unit(queries) @ unit(rows).T
    found = np.argsort(-exact, axis=1)[:, :30]
    weights = np.maximum(np.take_along_axis(exact, found, axis=1), 0) ** 3
    shares = [np.bincount(row % 3, weight, 3) / weight.sum() for row, weight in zip(found, weights, strict=True)]
    np.testing.assert_allclose(votes.shares, shares, atol=1e-5)
    np.testing.assert_array_equal(votes.first, [np.bincount(row[:5] % 3, minlength=3) for row in found])
    assert votes.neighbours == 5


def test_coverage_is_the_share_of_the_name_by_rarity():
    collector, _data, _, _ = fit()
    vocabulary = build_vocabulary()
    row = vocabulary.find_named("Dark matter", "it")
    from sciprism.papers.records import Paper

    papers = [Paper(id="a", title="dark matters"), Paper(id="b", title="dark"), Paper(id="c", title="none of it")]
    cover = collector.side.cover(papers)[:, row].tolist()
    assert cover[0] == 1 and 0 < cover[1] < 1 and cover[2] == 0


def test_only_allowed_labels_are_candidates():
    collector, data, _, _ = fit()
    allowed = np.zeros(data.tags.labels, bool)
    allowed[[3, 6]] = True
    found = collector.collect(data.papers[:5], data.vectors[:5], allowed=allowed)
    assert set(found.labels.tolist()) == {3, 6}
    assert found.features.shape[1] == len(FEATURES) and np.isfinite(found.features).all()


def test_isotonic_calibration_by_hand():
    scores = np.array([1.0, 2, 3, 4, 5, 6])
    found = Calibration.fit(scores, np.array([0.0, 1, 0, 0, 1, 1])).apply(scores)
    # 2, 3 and 4 are pooled at 3 with 1/3, 5 and 6 at 5.5 with 1; the others are between the steps
    np.testing.assert_allclose(found, [0, 1 / 6, 1 / 3, 1 / 3 + 2 / 3 / 2.5, 1 / 3 + 2 / 3 * 2 / 2.5, 1])
    assert (np.diff(Calibration.fit(scores, scores % 2).apply(np.linspace(0, 9, 50))) >= 0).all()


def test_the_ranker_learns_what_is_not_linear_and_keeps_it_in_json():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1000, 4)).astype(np.float32)
    right = (features[:, 1] * features[:, 3] > 0).astype(np.float32)
    ranker = Ranker.fit(features, right, [1, 3])
    test = rng.normal(size=(500, 4)).astype(np.float32)
    assert ((ranker.score(test) > 0) == (test[:, 1] * test[:, 3] > 0)).mean() > 0.9
    weighing = Weighing(ranker, Calibration.fit(ranker.score(test), np.arange(500.0) % 2), 0.5)
    again = Weighing.from_json(json.loads(json.dumps(weighing.to_json())))
    np.testing.assert_array_equal(again.ranker.score(test), ranker.score(test))
    np.testing.assert_array_equal(again.weigh(test), weighing.weigh(test))
    assert Ranker.fit(features, right, [1, 3]).score(test).tolist() == ranker.score(test).tolist(), "seeded"


def test_a_feature_that_was_constant_in_training_is_no_evidence():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 2)).astype(np.float32)
    features[:, 1] = 2.302585
    ranker = Ranker.fit(features, (features[:, 0] > 0).astype(np.float32), [0, 1])
    other = features.copy()
    other[:, 1] = 1.0
    np.testing.assert_allclose(ranker.score(other), ranker.score(features), atol=1e-5)

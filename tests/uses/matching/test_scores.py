"""Scores of submissions and reviewers: rules against numpy, blocks against single pairs, candidates, profiles."""

from __future__ import annotations

import numpy as np
import pytest

from build_matching import build_requirements
from sciprism import InputError, Paper
from sciprism.uses.matching import MatchSettings, Reviewer, assignment, score_pairs
from sciprism.uses.matching.assignment import AssignmentTask, PairScores, find_pairs
from sciprism.uses.matching.expertise import ExpertiseScorer, Profile, build_profiles
from sciprism.uses.matching.pair_files import StatedPairs
from sciprism.uses.matching.settings import Scoring

RNG = np.random.default_rng(5)
RULES = ("best", "mean-1", "mean-3", "mean-40", "percentile-0", "percentile-75", "percentile-87.5", "percentile-100")


def random_profiles(sizes, papers=300):
    return [Profile(RNG.integers(0, papers, n), RNG.uniform(0.2, 1, n).astype(np.float32)) for n in sizes]


def reference(rule, values):
    if rule.startswith("percentile"):
        return np.percentile(values, float(rule.partition("-")[2]))
    return np.mean(sorted(values)[-int(rule.partition("-")[2] or 1) :])


@pytest.mark.parametrize("rule", RULES)
def test_scores_are_those_of_numpy(rule):
    vectors, submissions = (RNG.standard_normal((n, 8)).astype(np.float32) for n in (300, 9))
    profiles = random_profiles([3, 0, 1, 40, 2, 2, 17, 100, 5])
    found = ExpertiseScorer(submissions, vectors, profiles, Scoring.parse(rule)).score_all()
    for number, profile in enumerate(profiles):
        papers = vectors[profile.rows]
        for row, query in enumerate(submissions):
            cosines = papers @ query / np.linalg.norm(papers, axis=1) / np.linalg.norm(query)
            expected = reference(rule, cosines * profile.weights) if len(papers) else 0
            assert found[row, number] == pytest.approx(expected, abs=1e-5)


def test_mean_of_the_top_is_the_score_of_the_benchmark():
    vectors = RNG.standard_normal((50, 8)).astype(np.float32)
    profiles = [Profile(RNG.integers(0, 50, n), np.ones(n, np.float32)) for n in (2, 10)]
    pairs = np.array([(p, r) for p in range(50) for r in range(2)])
    found = ExpertiseScorer(vectors, vectors, profiles, Scoring.parse("mean-3")).score_all()
    expected = score_pairs(vectors, [profile.rows for profile in profiles], pairs, 3)
    assert np.allclose(found[pairs[:, 0], pairs[:, 1]], expected, atol=1e-6)


@pytest.mark.parametrize("rule", ["worst", "mean", "mean-0", "percentile-101", "best-2", ""])
def test_an_unknown_rule_is_named(rule):
    with pytest.raises(InputError, match="none of best, mean-K and percentile-P"):
        Scoring.parse(rule)


def test_candidates_are_the_best_allowed_pairs_of_both_sides(monkeypatch):
    monkeypatch.setattr(assignment, "BLOCK", 12 * 3)  # blocks of 3 submissions
    scores = RNG.random((20, 12)).astype(np.float32)
    best = list(zip(range(20), scores.argmax(axis=1).tolist(), strict=True))
    required = build_requirements(scores.shape, forbidden=best, groups=[([4, 7, 9], 1)])
    allowed = scores.copy()
    allowed[np.arange(20), scores.argmax(axis=1)] = -np.inf
    settings = MatchSettings(candidates=3)
    found = find_pairs(AssignmentTask(required, PairScores(scores.copy()), StatedPairs(), settings))
    pairs = set(zip(found.papers.tolist(), found.reviewers.tolist(), strict=True))
    expected = {(p, r) for p in range(20) for r in np.argsort(-allowed[p])[:3]}
    expected |= {(p, r) for r in range(12) for p in np.argsort(-allowed[:, r])[:3]}
    expected |= {(p, r) for p in range(20) for r in (4, 7, 9) if np.isfinite(allowed[p, r])}
    assert pairs == expected
    assert np.allclose(found.scores, scores[found.papers, found.reviewers], atol=1e-6)
    assert list(zip(found.papers, found.reviewers, strict=True)) == sorted(pairs)


def version(id, title="Salt marshes store carbon below ground", abstract="We cored ten marshes.", **more):
    return Paper(id=id, title=title, abstract=abstract, **more)


@pytest.mark.parametrize(
    "copies",
    [
        (version("a"), version("a2", abstract="We cored ten marshes. Data are open."), version("a3", abstract="")),
        (version("import", "SALT MARSHES STORE CARBON BELOW GROUND.", "", year=2021), version("a", year=2018)),
        (version("a", ids={"doi": "10.48550/arxiv.2001.00001"}, year=2020), version("b", ids={"pmid": "7"}, year=2023)),
        (version("a", "Salt marshes"), version("b", "Salt Marshes")),
    ],
)
def test_versions_of_a_paper_count_once(copies):
    others = (version("x", "Tides of lagoons", ""), version("y", "Dunes", ""))
    rows, profiles = build_profiles([Reviewer(id="r", papers=(*copies, *others))], year=2024, half_life=1)
    assert [paper.id for paper in rows] == ["a", "x", "y"] and [len(profile.rows) for profile in profiles] == [3]
    assert rows[0].year == max((paper.year for paper in copies if paper.year), default=None)


def test_other_papers_of_a_title_that_many_have_count_each():
    papers = tuple(version(f"e{n}", "Editorial", f"On number {n}.") for n in range(3))
    assert len(build_profiles([Reviewer(id="r", papers=papers)], year=2024)[1][0].rows) == 3


def test_profiles_weigh_age_and_place_of_the_author():
    def paper(id, year, *authors):
        return Paper(id=id, title=f"title {id}", year=year, authors=authors)

    papers = (
        paper("new", 2020, "Ann Lee", "B. Poe", "C. Roe"),
        paper("old", 2010, "B. Poe", "A. Lee", "C. Roe"),  # in the middle
        paper("undated", None, "C. Roe", "Ann Lee"),
        paper("foreign", 2020, "X. Yu", "Y. Yu", "Z. Yu"),
    )
    people = [Reviewer(id="ann", name="Ann Lee", papers=(*papers, papers[0])), Reviewer(id="none")]
    rows, profiles = build_profiles(people, year=2020, half_life=10, authorship=0.25)
    assert [paper.id for paper in rows] == ["new", "old", "undated", "foreign"]
    assert [len(profile.rows) for profile in profiles] == [4, 0]
    assert profiles[0].weights.tolist() == pytest.approx([1, 0.5 * 0.25, 1, 1])  # the median age is 0
    assert build_profiles(people, year=2020)[1][0].weights.tolist() == [1, 1, 1, 1]

"""Scores of submissions and reviewers: rules against numpy, profiles."""

from __future__ import annotations

import numpy as np
import pytest

from sciprism import InputError, Paper
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.matching.settings import parse_scoring

RNG = np.random.default_rng(5)


def score_all(rule, submissions, vectors, profiles):
    return ExpertiseScorer(submissions, vectors, profiles, parse_scoring(rule)).score_all()


@pytest.mark.parametrize("rule", ["best", "mean-1", "mean-3", "mean-40", "percentile-0", "percentile-87.5"])
def test_scores_are_those_of_numpy(rule):
    vectors, submissions = (RNG.standard_normal((n, 8)).astype(np.float32) for n in (300, 9))
    sizes = (3, 0, 1, 40, 2, 2, 17, 100, 5)
    profiles = [RNG.integers(0, 300, n) for n in sizes]
    found, number = score_all(rule, submissions, vectors, profiles), rule.partition("-")[2]
    for column, profile in zip(found.T, profiles, strict=True):
        papers = vectors[profile] / np.linalg.norm(vectors[profile], axis=1, keepdims=True)
        cosines = papers @ (submissions / np.linalg.norm(submissions, axis=1, keepdims=True)).T
        if not len(papers):
            expected = np.zeros(9)
        elif rule.startswith("percentile"):
            expected = np.percentile(cosines, float(number), axis=0)
        else:
            expected = np.sort(cosines, axis=0)[-int(number or 1) :].mean(axis=0)
        assert np.allclose(column, expected, atol=1e-5)


@pytest.mark.parametrize("rule", ["mean", "mean-0", "percentile-101", "best-2", ""])
def test_an_unknown_rule_is_named(rule):
    with pytest.raises(InputError, match="none of best, mean-K and percentile-P"):
        parse_scoring(rule)


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
    others = (version("x", "Editorial", "On x."), version("y", "Editorial", "On y."))  # a title that many have
    rows, profiles = build_profiles([Reviewer(id="r", papers=(*copies, *others))])
    assert [paper.id for paper in rows] == ["a", "x", "y"] and list(map(len, profiles)) == [3]
    assert rows[0].year == max((paper.year for paper in copies if paper.year), default=None)

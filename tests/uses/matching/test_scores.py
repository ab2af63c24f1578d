"""Scores of submissions and reviewers against numpy, profiles."""

from __future__ import annotations

import numpy as np
import pytest

from sciprism import Paper
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles
from sciprism.uses.matching.reviewers import Reviewer

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("best", [1, 3, 40])
def test_scores_are_those_of_numpy(best):
    vectors, submissions = (RNG.standard_normal((n, 8)).astype(np.float32) for n in (300, 9))
    sizes = (3, 0, 1, 40, 2, 2, 17, 100, 5)
    profiles = [RNG.integers(0, 300, n) for n in sizes]
    found = ExpertiseScorer(submissions, vectors, profiles, best).score_all()
    for column, profile in zip(found.T, profiles, strict=True):
        papers = vectors[profile] / np.linalg.norm(vectors[profile], axis=1, keepdims=True)
        cosines = papers @ (submissions / np.linalg.norm(submissions, axis=1, keepdims=True)).T
        expected = np.sort(cosines, axis=0)[-best:].mean(axis=0) if len(papers) else np.zeros(9)
        assert np.allclose(column, expected, atol=1e-5)


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

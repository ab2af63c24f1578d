from dataclasses import replace

import numpy as np
import pytest

from build_systems import build_system, spell_vectors
from sciprism.datasets.inputs import MatchInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.match import MatchProtocol
from sciprism.evaluation.systems import BM25System
from sciprism.evaluation.task import EvaluationContext
from sciprism.papers.records import Paper

VIEW = EvaluationContext(format="proximity")
# one submission at 0 degrees; papers at angles whose cosines are known
COSINES = [1.0, 0.8, 0.6, 0.0, -1.0]
VECTORS = [(1, 0), *((c, np.sqrt(1 - c * c)) for c in COSINES), (0, 0)]


def reviewers(profiles, pairs, ratings, vectors=VECTORS):
    texts = spell_vectors(np.array(vectors))
    return MatchInput(
        paper_ids=[f"p{i}" for i in range(len(texts))],
        papers=[Paper(id=f"p{i}", title=title) for i, title in enumerate(texts)],
        reviewer_ids=[f"r{j}" for j in range(len(profiles))],
        profiles=[np.array(rows, np.int64) for rows in profiles],
        pairs=np.array(pairs, np.int64),
        ratings=np.array(ratings, np.float64),
    )


def test_hard_and_soft_precision(tmp_path):
    # scores by the best three of each profile: r0 0.8, r1 0.6 (0.8, 0.6, 0.4 would need more), r2 -1, r3 0
    profiles = [[1, 2, 3, 4], [3], [5], [4]]
    data = reviewers(profiles, [(0, 0), (0, 1), (0, 2), (0, 3)], [3, 2, 3, 0])
    match = MatchProtocol(metrics=("hard p@1", "hard p@2", "soft p@2", "hard p@5", "soft p@5"))
    found = match.evaluate(data, build_system(tmp_path), VIEW)
    values = {name: estimate(item_scores) for name, item_scores in found.item_scores.items()}
    assert values == pytest.approx(
        {"hard p@1": 1.0, "hard p@2": 0.5, "soft p@2": 1.0, "hard p@5": 2 / 5, "soft p@5": 3 / 5}
    )
    assert found.item_scores["hard p@1"].ids == ("p0",)
    assert found.details["pairs"] == 4 and found.details["reviewers"] == 4


def test_pairwise_order_of_each_reviewer(tmp_path):
    # r0 wrote the paper at 0 degrees: p1, p2, p3 score 1, 0.8, 0.6. Rated 2, 1, 5: a pair of weight 1 is
    # right, two of weights 3 and 4 are wrong. r1 rates both alike and has no order.
    data = reviewers([[0], [0]], [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1)], [2, 1, 5, 4, 4])
    found = MatchProtocol(metrics=("pairwise",)).evaluate(data, build_system(tmp_path), VIEW)
    item_scores = found.item_scores["pairwise"]
    assert item_scores.ids == ("r0",) and estimate(item_scores) == pytest.approx(1 / 8)
    assert found.dropped.count("reviewer who rated nothing above anything") == 1


def test_empty_profiles_are_counted_and_zero_vectors_score_nothing(tmp_path):
    data = reviewers([[], [6], [1]], [(0, 0), (0, 1), (0, 2)], [3, 3, 0])
    found = MatchProtocol(metrics=("hard p@1",)).evaluate(data, build_system(tmp_path), VIEW)
    assert found.dropped.to_json()["reviewer without papers"] == {"count": 1, "first": ["r0"]}
    assert found.details["pairs left out"] == 1
    assert estimate(found.item_scores["hard p@1"]) == 0.0  # r2 scores 1, r1 with its zero vector 0
    with pytest.raises(InputError, match="no rated reviewer has papers"):
        MatchProtocol().evaluate(reviewers([[]], [(0, 0)], [3]), build_system(tmp_path), VIEW)


def test_a_system_without_vectors_scores_reviewers_by_their_papers(tmp_path):
    titles = ["ozone holes", "protein folds", "ozone layer", "ozone sprays", "protein chains", "galaxies", "ozone"]
    data = replace(
        reviewers([[2, 3, 5], [4], [6]], [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)], [0, 0, 3, 0, 3]),
        papers=[Paper(id=str(n), title=title) for n, title in enumerate(titles)],
    )
    found = MatchProtocol(best=2, metrics=("hard p@1", "pairwise")).evaluate(data, BM25System(), VIEW)
    assert [estimate(scores) for scores in found.item_scores.values()] == [1, 1], "the sum would be of the first"
    assert found.details["distance"] == "the system's"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metrics": ()}, "no metric"),
        ({"metrics": ("easy p@5",)}, "levels: hard, soft; or pairwise"),
        ({"metrics": ("hard x@5",)}, "unknown ranking metric"),
    ],
)
def test_settings_are_checked(given, message):
    with pytest.raises(InputError, match=message):
        MatchProtocol(**given)

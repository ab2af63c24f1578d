import math

import numpy as np
import pytest
import torch

from build_systems import build_system, spell_vectors
from sciprism.datasets.inputs import Click, ClickLog
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.recommend import RecommendProtocol, build_shown_lists
from sciprism.evaluation.task import EvaluationContext
from sciprism.papers.records import Paper

VIEW = EvaluationContext(format="proximity")
PROPENSITIES = np.array([0.5, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1])


def test_eleven_numbers_by_hand():
    query = Paper(id="q", title="Deep nets", authors=("a", "b"), year=2010, references=("x", "y"))
    shown = Paper(id="c", title="Deep trees", authors=("b",), year=1980, references=("q", "x"))
    data = ClickLog(
        papers=[query, shown, Paper(id="e")],
        cited_by=[frozenset({"c"}), frozenset({"c", "z"}), frozenset()],
        train=[Click(paper=0, shown=np.array([1, 2]), clicked=2)],
        dev=[],
        test=[],
        propensities=PROPENSITIES,
    )
    lists = build_shown_lists(data, data.train)
    row = [1 / 2, 0, 1 / 3, 0, 1 / 2, 1 / 3, 1, 0, 1.0, 1.0, math.log(3) / 10]
    assert lists.features[0] == pytest.approx(row)  # ages of 40 and 30 years, clipped
    assert lists.features[1].tolist() == [0.0] * 11
    assert lists.clicked.tolist() == [1] and lists.starts.tolist() == [0, 2]


def test_the_first_five_others_are_negatives():
    papers = [Paper(id=str(i)) for i in range(9)]
    click = Click(paper=0, shown=np.arange(1, 9), clicked=3)
    data = ClickLog(papers=papers, cited_by=[frozenset()] * 9, train=[click, click], dev=[], test=[],
                  propensities=PROPENSITIES)  # fmt: skip
    positive, negative = build_shown_lists(data, data.train).pairs().T
    assert positive.tolist() == [2] * 5 + [10] * 5
    assert negative.tolist() == [0, 1, 3, 4, 5, 8, 9, 11, 12, 13]


def clicks(count=80):
    """People click the paper that is nearest to the one they read."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 4))
    papers = [Paper(id=str(i), title=title) for i, title in enumerate(spell_vectors(vectors))] + [Paper(id="blank")]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    made = []
    for _ in range(count):
        paper, *shown = rng.permutation(60)[:7].tolist()
        best = shown[int(np.argmax(unit[shown] @ unit[paper]))]
        made.append(Click(paper=paper, shown=np.array(shown), clicked=best))
    return ClickLog(
        papers=papers,
        cited_by=[frozenset()] * 61,
        train=made[: count // 2],
        dev=made[count // 2 : 3 * count // 4],
        test=made[3 * count // 4 :],
        propensities=PROPENSITIES,
    )


def test_the_net_learns_what_people_click(tmp_path, monkeypatch):
    monkeypatch.setattr("sciprism.evaluation.protocols.recommend.LEARNING_RATE", 0.01)
    protocol = RecommendProtocol(repeats=2)
    found = protocol.evaluate(clicks(), build_system(tmp_path, 4), VIEW)
    assert estimate(found.item_scores["adj-p@1"]) > 0.8 < estimate(found.item_scores["adj-ndcg"])
    assert found.dropped.count("paper without text, zero vector") == 1
    assert len(found.item_scores["adj-ndcg"].parts) == 2
    before = torch.get_rng_state()
    again = protocol.evaluate(clicks(), build_system(tmp_path, 4), VIEW)
    assert np.array_equal(again.item_scores["adj-ndcg"].columns, found.item_scores["adj-ndcg"].columns)
    assert torch.equal(before, torch.get_rng_state())


def test_wrong_settings_and_missing_parts(tmp_path):
    with pytest.raises(InputError, match="known: adj-ndcg"):
        RecommendProtocol(metrics=("ndcg",))
    data = clicks(2)
    with pytest.raises(InputError, match="no dev click"):
        RecommendProtocol().evaluate(data, build_system(tmp_path, 4), VIEW)

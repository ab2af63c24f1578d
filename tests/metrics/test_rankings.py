"""Ranking metrics against pytrec_eval and numbers worked by hand.

Scores of clicked recommendations, worked by hand.

Order of pairs against a loop over all pairs.
"""

import re
from math import log2

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.metrics.rankings import click_scores, grade_rankings, pair_order, parse_metric

PEER_NAMES = {
    "ndcg": "ndcg",
    "ndcg@1": "ndcg_cut_1",
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "map@3": "map_cut_3",
    "p": "set_P",
    "p@5": "P_5",
    "p@20": "P_20",
    "recall@2": "recall_2",
    "recall": "set_recall",
    "recall@100": "recall_100",
    "mrr": "recip_rank",
    "success@1": "success_1",
    "success@5": "success_5",
}
IDS = st.sampled_from(["9", "10", "1", "100", "a", "A", "ab", "é", "z", "中", "😀", "\uff5e", "d-1", "d_1", " "])
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.5, -3.0, 1e300, -1e300, float("inf")]), st.floats(-2, 2)
)
RUNS = st.dictionaries(st.sampled_from("qrstu"), st.dictionaries(IDS, SCORES, max_size=12), max_size=5)
QRELS = st.dictionaries(
    st.sampled_from("qrstuv"), st.dictionaries(IDS, st.integers(-2, 4), min_size=1, max_size=12), max_size=6
)


def as_run(scored):
    return {query: (list(found), list(found.values())) for query, found in scored.items()}


def values(name, run, qrels):
    judged = grade_rankings(as_run(run), qrels)
    metric, depth = parse_metric(name)
    return dict(zip(judged.queries, metric(judged, depth).tolist(), strict=True))


def peer(run, qrels):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    asked = {re.sub(r"_(?=[0-9])", ".", name) for name in PEER_NAMES.values()}
    return pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)


@given(RUNS, QRELS)
@settings(max_examples=80)
def test_equals_pytrec_eval(run, qrels):
    # A query with nothing but negative grades leaves the peer's memory undefined.
    assume(all(max(grades.values()) >= 0 for grades in qrels.values()))
    expected = peer(run, qrels)
    for name, theirs in PEER_NAMES.items():
        found = {query: value for query, value in values(name, run, qrels).items() if query in run}
        assert found.keys() == expected.keys()
        for query, value in found.items():
            assert value == pytest.approx(expected[query][theirs], abs=1e-12), (name, query)


def test_a_ranking_worked_by_hand():
    run = {"q": {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}}
    qrels = {"q": {"a": 1, "c": 2, "d": 0, "x": 1}}  # b is not judged, x is not found
    gain, ideal = 1 + 2 / log2(4), 2 + 1 / log2(3) + 1 / log2(4)
    expected = {
        "ndcg": gain / ideal,
        "ndcg@2": 1 / (2 + 1 / log2(3)),
        "map": (1 + 2 / 3) / 3,
        "map@2": 1 / 3,
        "p@1": 1.0,
        "p@10": 0.2,
        "p": 0.5,
        "recall@3": 2 / 3,
        "mrr": 1.0,
        "success@1": 1.0,
    }
    for name, value in expected.items():
        assert values(name, run, qrels)["q"] == pytest.approx(value, abs=1e-15), name


def rank(ids, scores):
    """Return the order of one query's documents: the grade of each is its position, from 1."""
    grades = {name: position for position, name in enumerate(ids, 1)}
    return [grade - 1 for grade in grade_rankings({"q": (ids, scores)}, {"q": grades}).hits.grade]


def test_ties_go_to_the_larger_id_and_single_precision_decides_what_is_a_tie():
    assert rank(["10", "9", "é", "b"], [1.0, 1.0 + 1e-9, 1.0, 2.0]) == [3, 2, 1, 0]
    assert rank(["a", "b"], [0.0, -0.0]) == [1, 0]
    assert rank(np.array(["a", "b"]), [1e300, 1e301]) == [1, 0]  # both infinite
    assert rank([], []) == []


def test_missing_queries_count_zero_and_queries_without_judgements_are_dropped():
    run, qrels = {"q": {"a": 1.0}, "x": {"a": 1.0}, "e": {}}, {"q": {"a": 1}, "r": {"a": 1}, "e": {"a": 1}, "y": {}}
    assert values("map", run, qrels) == {"q": 1.0, "r": 0.0, "e": 0.0}


def test_grades_may_be_fractions():
    run, qrels = {"q": {"b": 2.0, "a": 1.0, "c": 0.5}}, {"q": {"a": 1, "b": 0.4, "c": 0}}
    assert values("ndcg", run, qrels)["q"] == pytest.approx((0.4 + 1 / log2(3)) / (1 + 0.4 / log2(3)))
    assert values("map", run, qrels) == {"q": 1.0}


def test_nothing_to_score_gives_nothing():
    for name in PEER_NAMES:
        assert values(name, {}, {}) == {}
        assert values(name, {"q": {"a": 1.0}}, {}) == {}
        assert values(name, {}, {"q": {"a": 1}}) == {"q": 0.0}


def test_names_are_parsed_and_unknown_ones_list_the_known():
    assert parse_metric("ndcg@10")[1] == 10 and parse_metric("map")[1] is None
    with pytest.raises(InputError, match="unknown ranking metric 'bpref'; known: map, mrr, ndcg, p, recall"):
        parse_metric("bpref@5")
    for wrong in ("ndcg@", "ndcg@0", "ndcg@-1", "ndcg@x", "ndcg@1.5", "ndcg@10@3", "ndcg@٣"):
        with pytest.raises(InputError, match="is not a depth"):
            parse_metric(wrong)


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ({"q": (["a", "b", "a"], [1, 2, 3])}, {"q": {"a": 1}}, "query 'q': document 'a' is ranked twice"),
        ({"q": (["a", "b"], [1, float("nan")])}, {"q": {"a": 1}}, "document 'b' has the score NaN"),
        ({"q": (["a", "b"], [1])}, {"q": {"a": 1}}, "query 'q', ids and scores: 2 and 1"),
        ({"q": (["a"], [1])}, {"q": {"a": float("nan")}}, "qrels: number 1 is nan"),
    ],
)
def test_wrong_input_is_told_with_its_place(run, qrels, message):
    with pytest.raises(InputError, match=message):
        grade_rankings(run, qrels)


def test_clicks_worked_by_hand():
    shown = [[0.9, 0.5, 0.1], [0.2, 0.2, 0.7], [3.0, 1.0]]
    gain, first, weights = click_scores(shown, [0, 1, 1], [0.5, 0.25, 0.1])
    # above: none; one higher and one tie: 1.5; one
    assert gain == pytest.approx([1, 1 / log2(3.5), 1 / log2(3)])
    assert first.tolist() == [1, 0, 0] and weights.tolist() == [2, 4, 4]
    assert np.average(gain, weights=weights) == pytest.approx((2 + 4 / log2(3.5) + 4 / log2(3)) / 10)
    assert np.average(first, weights=weights) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("shown", "clicked", "propensities", "message"),
    [
        ([], [], [1.0], "no click"),
        ([[1.0]], [1], [1.0, 1.0], "click 1: position 1 is outside the list of 1"),
        ([[1.0, 2.0]], [1], [1.0], "no propensity above 0"),
        ([[1.0]], [0], [0.0], "no propensity above 0"),
        ([[float("nan")]], [0], [1.0], "click 1, scores: number 1 is nan"),
        ([[1.0]], [0, 0], [1.0], "lists and clicks: 1 and 2"),
    ],
)
def test_wrong_input_is_told(shown, clicked, propensities, message):
    with pytest.raises(InputError, match=message):
        click_scores(shown, clicked, propensities)


def test_raters_worked_by_hand():
    found = pair_order(["x", "x", "x", "y", "y", "z"], [5, 3, 1, 2, 1, 4], [0.9, 0.1, 0.5, 7, 7, 0])
    # x: 5>3 (2) and 5>1 (4) right, 3>1 (2) wrong; y: a tie; z: one paper
    assert found.raters == ("x", "y") and found.unordered == ("z",)
    assert found.values.tolist() == [0.75, 0.5] and found.weights.tolist() == [8, 1]


def test_nobody_and_wrong_input():
    assert pair_order([], [], []).raters == ()
    with pytest.raises(InputError, match="raters and ratings"):
        pair_order(["x"], [1, 2], [1, 2])
    with pytest.raises(InputError, match="scores: number 2 is nan"):
        pair_order(["x", "x"], [1, 2], [1, float("nan")])

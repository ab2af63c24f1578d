"""Reranking and retrieval against numbers worked by hand and against pytrec_eval."""

from dataclasses import replace

import numpy as np
import pytest
import pytrec_eval

from build_systems import build_system, spell_vectors
from sciprism.datasets.inputs import RerankInput, RetrievalInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.rank import RerankProtocol, RetrieveProtocol
from sciprism.evaluation.task import EvaluationContext

VIEW = EvaluationContext(format="proximity")


def rows(*numbers):
    return np.array(numbers, np.int64)


def pools(**more):
    base = {
        "query_ids": ["q1", "q2", "q3"],
        "queries": ["0 0", "10 0", "0 0"],
        "candidate_ids": ["a", "b", "c"],
        "candidates": ["1 0", "2 0", "9 0"],
        "pools": [rows(0, 1, 2), rows(0, 2), rows()],
        "grades": [rows(0, 1, 1), rows(1, 0), rows()],
    }
    return RerankInput(**(base | more))


def test_pools_are_ranked_by_euclidean_distance(tmp_path):
    outcome = RerankProtocol(metrics=("map", "ndcg", "p@2")).evaluate(pools(), build_system(tmp_path), VIEW)
    # q1: a b c, relevant b and c -> (1/2 + 2/3) / 2; q2: c a, relevant a -> 1/2
    np.testing.assert_allclose(outcome.item_scores["map"].columns.ravel(), [7 / 12, 1 / 2], rtol=1e-6)
    assert outcome.item_scores["map"].ids == ("q1", "q2")
    assert estimate(outcome.item_scores["p@2"]) == 0.5
    assert outcome.dropped.ids == {"query without candidates": ["q3"]}
    assert outcome.details["pairs"] == 5


def test_rounded_scores_tie_and_ties_go_to_the_larger_id(tmp_path):
    data = pools(
        query_ids=["q"],
        queries=["0 0"],
        candidates=["1 0", "1.000001 0", "5 0"],
        pools=[rows(0, 1)],
        grades=[rows(1, 0)],
    )
    exact = RerankProtocol(metrics=("mrr",)).evaluate(data, build_system(tmp_path / "a"), VIEW)
    rounded = RerankProtocol(metrics=("mrr",), decimals=5).evaluate(data, build_system(tmp_path / "b"), VIEW)
    assert estimate(exact.item_scores["mrr"]) == 1 and estimate(rounded.item_scores["mrr"]) == 0.5


def test_judged_candidates_without_a_record_count_as_not_found(tmp_path):
    data = pools(absent=[{"lost": 1}, {}, {}])
    outcome = RerankProtocol(metrics=("map",)).evaluate(data, build_system(tmp_path), VIEW)
    assert outcome.item_scores["map"].columns[0] == pytest.approx((1 / 2 + 2 / 3) / 3)  # three are relevant


def build_corpus(seed, excluded=False):
    draw = np.random.default_rng(seed)
    documents, queries = draw.normal(size=(40, 2)), draw.normal(size=(12, 2))
    judged = [np.sort(draw.choice(40, draw.integers(1, 9), replace=False)) for _ in queries]
    return RetrievalInput(
        query_ids=[f"q{i}" for i in range(12)],
        queries=spell_vectors(queries),
        document_ids=[f"d{i}" for i in range(40)],
        documents=spell_vectors(documents),
        judged=judged,
        grades=[draw.integers(0, 3, len(part)) for part in judged],
        excluded=[rows(i, i + 1) for i in range(12)] if excluded else None,
    )


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("distance", ["dot", "cosine", "euclidean"])
def test_retrieval_is_what_pytrec_eval_says(tmp_path, distance, excluded):
    data = build_corpus(3, excluded)
    outcome = RetrieveProtocol(metrics=("ndcg@10", "recall@5", "map"), distance=distance).evaluate(
        data, build_system(tmp_path), VIEW
    )
    queries = np.array([[float(x) for x in text.split()] for text in data.queries])
    documents = np.array([[float(x) for x in text.split()] for text in data.documents])
    run, qrels = {}, {}
    for i, query in enumerate(queries):
        if distance == "euclidean":
            scores = -np.linalg.norm(documents - query, axis=1)
        else:
            scores = documents @ query
            if distance == "cosine":
                scores /= np.linalg.norm(documents, axis=1) * np.linalg.norm(query)
        keep = np.setdiff1d(np.arange(40), data.excluded[i]) if excluded else np.arange(40)
        run[f"q{i}"] = {f"d{j}": float(scores[j]) for j in keep}
        qrels[f"q{i}"] = {f"d{j}": int(g) for j, g in zip(data.judged[i], data.grades[i], strict=True)}
    truth = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.5", "map"}).evaluate(run)
    for name, theirs in (("ndcg@10", "ndcg_cut_10"), ("recall@5", "recall_5"), ("map", "map")):
        items = outcome.item_scores[name]
        want = [truth[query][theirs] for query in items.ids]
        np.testing.assert_allclose(items.columns.ravel(), want, atol=1e-6)


def test_judgements_that_help_nobody_are_an_error(tmp_path):
    data = build_corpus(0)
    none = replace(data, grades=[np.zeros_like(g) for g in data.grades])
    with pytest.raises(InputError, match="no query has a relevant document"):
        RetrieveProtocol().evaluate(none, build_system(tmp_path), VIEW)


@pytest.mark.parametrize("kind", [RerankProtocol, RetrieveProtocol])
def test_unknown_metrics_are_refused_when_declared(kind):
    with pytest.raises(InputError, match="ndcg"):
        kind(metrics=("ndgc@10",))
    with pytest.raises(InputError, match="no metric"):
        kind(metrics=())

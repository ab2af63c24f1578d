"""A system of one's own: `encode` or `rank` is enough for every protocol that ranks."""

import numpy as np
import pytest

from sciprism.evaluation import EncodingInput, RankingSystem, VectorSystem
from sciprism.evaluation.systems import NotServedError, System
from sciprism.papers import Paper


class Numbers(VectorSystem):
    name = "numbers"
    fingerprint = "n1"

    def encode(self, texts):
        return np.array([[float(word) for word in text.split()] for text in texts.texts()], np.float32)


class Shared(RankingSystem):
    name = "shared"
    fingerprint = "s1"

    def rank(self, queries, documents):
        for query in queries.texts():
            yield np.array([len(set(query.split()) & set(text.split())) for text in documents.texts()], np.float32)


def texts(*words):
    return EncodingInput(items=words, format="search", role="query")


def test_texts_are_the_fields_joined_by_a_space():
    paper = Paper(id="1", title="Cells", abstract="They divide.", venue="Cell")
    assert EncodingInput(items=[paper], format="search").texts() == ["Cells They divide."]
    assert EncodingInput(items=[paper], format="search", fields=("title", "venue")).texts() == ["Cells Cell"]


def test_vectors_are_compared_by_the_distance_that_the_task_names():
    system, queries, documents = Numbers(), texts("1 0"), texts("0 9", "9 9", "2 0")
    assert isinstance(system, System) and system.describe() == {"name": "numbers", "fingerprint": "n1"}
    assert system.top(queries, documents, 2, "encoder", None)[1].tolist() == [[2, 1]]
    assert system.top(queries, documents, 2, "dot", None)[1].tolist() == [[1, 2]]
    assert system.top(queries, documents, 3, "dot", [np.array([1])])[1].tolist() == [[2, 0, -1]]
    assert system.pool_scores(queries, documents, [np.array([2, 0])], "dot")[0].tolist() == [2, 0]


def test_rankings_go_by_score_then_row_without_excluded_documents():
    system, queries, documents = Shared(), texts("a b", "c"), texts("a", "a b", "c a")
    assert isinstance(system, System)
    scores, rows = system.top(queries, documents, 2, "encoder", None)
    assert rows.tolist() == [[1, 0], [2, 0]] and scores.tolist() == [[2, 1], [1, 0]]
    scores, rows = system.top(queries, documents, 3, "encoder", [np.array([1]), np.array([], int)])
    assert rows.tolist() == [[0, 2, -1], [2, 0, 1]] and scores[0, 2] == -np.inf
    assert system.pool_scores(queries, documents, [np.array([1]), np.array([2, 0])], "dot")[1].tolist() == [1, 0]
    with pytest.raises(NotServedError, match="shared has no vectors"):
        system.encode(queries)

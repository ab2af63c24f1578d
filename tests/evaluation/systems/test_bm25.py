"""Systems without vectors: BM25 by hand and its edges, and one of a user."""

import math

import numpy as np
import pytest

from sciprism.evaluation.systems import BM25System, EncodingInput, NotServedError, RankingSystem


def texts(items, role="paper", fields=("title", "abstract")):
    return EncodingInput(items=items, format="search", role=role, fields=fields)


def queries(*items):
    return texts(items, "query")


def lucene(query, documents, k1=1.2, b=0.75):
    """The formula word by word, without the constant (k1 + 1) that Lucene leaves out."""
    words = [[w for w in d.split() if w not in ("the", "of")] for d in documents]
    average = sum(map(len, words)) / len(words)
    scores = []
    for document in words:
        score = 0.0
        for word in query.split():
            holding = sum(word in other for other in words)
            idf = math.log(1 + (len(words) - holding + 0.5) / (holding + 0.5))
            count = document.count(word)
            score += idf * count / (count + k1 * (1 - b + b * len(document) / average)) if count else 0
        scores.append(score)
    return scores


def test_scores_are_the_formulas():
    documents = ["cell wave cell", "wave the light star", "star", "of the"]
    expected = lucene("cell wave", documents)
    pool = np.array([3, 1, 0])
    found = BM25System().pool_scores(queries("cell wave"), texts(documents), [pool], "dot")[0]
    assert found == pytest.approx([expected[row] for row in pool], rel=1e-5)


def test_only_documents_that_share_a_word_are_found_and_ties_go_to_the_lower_row():
    documents = texts(["star", "cell light", "", "cell light", "the of"])
    scores, rows = BM25System().top(queries("Cell!", "", "the of", "unseen word"), documents, 3, "encoder", None)
    assert rows.tolist() == [[1, 3, -1]] + [[-1] * 3] * 3
    assert scores[0, 0] == scores[0, 1] > 0 and np.isneginf(scores[0, 2]) and np.isneginf(scores[1:]).all()


def test_one_system_serves_several_corpora():
    system = BM25System()
    for words in (["cell"], ["wave", "cell"], ["light", "wave", "cell"], ["cell"]):
        assert system.top(queries("cell"), texts(words), 1, "dot", None)[1].tolist() == [[len(words) - 1]]


def test_nothing_to_search_finds_nothing():
    for documents in ([], [""], ["the of", ""]):
        assert BM25System().top(queries("cell"), texts(documents), 2, "dot", None)[1].tolist() == [[-1, -1]]
    assert BM25System().pool_scores(queries("cell"), texts([""]), [np.array([0])], "dot")[0].tolist() == [0]


class Shared(RankingSystem):
    name = "shared"
    fingerprint = "s1"

    def rank(self, queries, documents):
        for query in queries.texts():
            yield np.array([len(set(query.split()) & set(text.split())) for text in documents.texts()], np.float32)


def test_rankings_of_a_users_system_go_by_score_then_row_and_hold_what_scores_nothing():
    system, asked, documents = Shared(), queries("a b", "c"), texts(["a", "a b", "c a"])
    scores, rows = system.top(asked, documents, 2, "encoder", None)
    assert rows.tolist() == [[1, 0], [2, 0]] and scores.tolist() == [[2, 1], [1, 0]]
    scores, rows = system.top(asked, documents, 3, "encoder", [np.array([1]), np.array([], int)])
    assert rows.tolist() == [[0, 2, -1], [2, 0, 1]] and scores[0, 2] == -np.inf
    assert system.describe() == {"name": "shared", "fingerprint": "s1"}
    with pytest.raises(NotServedError, match="shared has no vectors"):
        system.encode(asked)

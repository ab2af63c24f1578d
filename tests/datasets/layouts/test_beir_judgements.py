"""Judgements of documents that are not there count as the reference program counts them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_systems import build_system, spell_vectors
from sciprism.datasets.layouts.beir import build_rerank_input, build_retrieval_input, merge_judgements
from sciprism.datasets.layouts.item_tables import ItemTable
from sciprism.drop_report import DropReport
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.protocols.rank import RetrieveProtocol
from sciprism.evaluation.task import EvaluationContext
from sciprism.papers.records import Paper

DOCUMENTS, QUERIES = [f"d{i}" for i in range(8)], [f"q{i}" for i in range(4)]
IDS = [*DOCUMENTS, *QUERIES[:2], "gone1", "gone2"]


def shelf(names, vectors, kind):
    found = ItemTable(DropReport())
    for name, text in zip(names, spell_vectors(vectors), strict=True):
        found.add(name, Paper(id=name, title=text) if kind == "paper" else text)
    return found


judgements = st.lists(
    st.tuples(st.sampled_from([*QUERIES, "lost"]), st.sampled_from(IDS), st.integers(-1, 3)), min_size=1
)


@settings(max_examples=30)
@given(judgements, st.booleans(), st.integers(0, 99))
def test_absent_and_excluded_documents_count_as_in_trec_eval(tmp_path_factory, rows, without_itself, seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    draw = np.random.default_rng(seed)
    names = [*DOCUMENTS, *QUERIES[:2]]  # two queries are documents too
    vectors, asked = draw.integers(-9, 10, (len(names), 2)), draw.integers(-9, 10, (len(QUERIES), 2))
    dropped = DropReport()
    qrels = merge_judgements(rows, dropped)
    data = build_retrieval_input(
        qrels,
        shelf(QUERIES, asked, "text"),
        shelf(names, vectors, "paper"),
        role="query",
        without_itself=without_itself,
        dropped=dropped,
    )
    judged = {q: grades for q, grades in qrels.items() if q in QUERIES and max(grades.values()) > 0}
    if not judged:
        return
    for row in range(len(data.documents)):  # a text of no numbers cannot be spelled; nothing may return it
        if not data.documents[row].title:
            data.documents[row] = Paper(id=data.document_ids[row], title="99 99")
    system = build_system(tmp_path_factory.mktemp("cache"))
    found = RetrieveProtocol(metrics=("ndcg@5", "map", "recall@3"), distance="dot").evaluate(
        data, system, EvaluationContext(format="search")
    )
    scores = vectors @ asked.T
    run = {
        q: {
            name: float(scores[i, QUERIES.index(q)])
            for i, name in enumerate(names)
            if not (without_itself and name == q)
        }
        for q in judged
    }
    measures = {"ndcg_cut_5", "map", "recall_3"}
    expected = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    for ours, theirs in (("ndcg@5", "ndcg_cut_5"), ("map", "map"), ("recall@3", "recall_3")):
        asked_of = [query for query in qrels if query in QUERIES]  # pytrec_eval may hang on no positive grade
        mean = sum(row[theirs] for row in expected.values()) / len(asked_of)
        assert estimate(found.item_scores[ours]) == pytest.approx(mean, abs=1e-6)


@settings(max_examples=30)
@given(judgements)
def test_pools_hold_every_judged_pair_that_has_records(rows):
    dropped = DropReport()
    qrels = merge_judgements(rows, dropped)
    queries, candidates = (
        shelf(QUERIES, np.zeros((4, 1)), "text"),
        shelf(DOCUMENTS, np.zeros((8, 1)), "paper"),
    )
    data = build_rerank_input(qrels, queries, candidates, "query", dropped)
    pairs = {
        (query, data.candidate_ids[row], grade)
        for query, pool, grades in zip(data.query_ids, data.pools, data.grades, strict=True)
        for row, grade in zip(pool.tolist(), grades.tolist(), strict=True)
    }
    first = {}
    for query, document, grade in rows:
        first.setdefault((query, document), grade)
    assert pairs == {(q, d, g) for (q, d), g in first.items() if q in QUERIES and d in DOCUMENTS}
    assert dropped.count("graded query without a record") == ("lost" in qrels)

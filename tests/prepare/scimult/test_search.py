"""Search files: merged splits of BEIR, and SciRepEval's two sets."""

import pytest

from build_data import lines, paper
from sciprism.datasets.layouts.published import SearchCorpus, SearchFiles, SearchPools
from sciprism.prepare.scimult import retrieval
from sciprism.prepare.scimult.context import MissingFilesError


def test_splits_are_merged(raw, context):
    raw.beir(
        "scifact",
        corpus=("1", "2", "3", "2"),
        queries=("q1", "q2", "q3", "q4"),
        qrels={"train": "q1 1 1,q1 2 1", "test": "q3 2 1,q3 9 1,q8 1 1"},
    )
    data_set = retrieval.write_scifact(context)
    assert (data_set.queries, data_set.targets, data_set.counts) == (2, 3, {"relevant": 4})
    assert dict(data_set.dropped.ids) == {
        retrieval.DUPLICATE: ["2"],
        "graded document without a record": ["q3 9"],
        "graded query without a record": ["q8"],
    }
    data = SearchCorpus(files=SearchFiles(name="SciFact")).read(context.written)
    assert data.query_ids == ["q1", "q3"] and data.queries == ["ask q1", "ask q3"]
    assert data.document_ids[:3] == ["1", "2", "3"] and data.documents[0].title == "T 1"
    assert [rows.tolist() for rows in data.judged] == [[0, 1], [1, 3]], "9 counts as not found"


def test_nfcorpus_has_three_splits_and_grades(raw, context):
    qrels = {"train": "a 1 2", "dev": "b 1 1", "test": "c 2 1"}
    raw.beir("nfcorpus", corpus=("1", "2"), queries=("a", "b", "c", "d"), qrels=qrels)
    assert retrieval.write_nfcorpus(context).queries == 3
    data = SearchCorpus(files=SearchFiles(name="NFCorpus")).read(context.written)
    assert [grades.tolist() for grades in data.grades] == [[2], [1], [1]]


def test_scirepeval_search(raw, context):
    raw.searches("evaluation", {"q one": {"1": 0, "2": 0, "3": 0}, "q two": {"2": 0, "4": 0}})
    labels = context.raw / "scirepeval_test/search/test.jsonl"
    graded = {"q one": {"1": 3, "2": 0, "3": 0}, "q two": {"4": 1, "2": 0}}
    rows = ((q, c, s) for q, mine in graded.items() for c, s in mine.items())
    lines(labels, ({"query_id": q, "cand_id": c, "score": s} for q, c, s in rows))
    data_set = retrieval.write_scirepeval_search(context)
    assert (data_set.queries, data_set.targets, data_set.counts) == (2, 2.5, {"papers": 4, "pairs": 5})
    data = SearchPools(files=SearchFiles(name="Search")).read(context.written)
    assert data.queries == ["q one", "q two"]
    assert [grades.tolist() for grades in data.grades] == [[3, 0, 0], [1, 0]]
    assert data.candidates[0].title == paper("1")["title"]


def test_scirepeval_is_not_fetched(context):
    with pytest.raises(MissingFilesError, match="allenai/scirepeval/trec_covid, split evaluation"):
        retrieval.write_scirepeval_trec_covid(context)

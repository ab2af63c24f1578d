"""BEIR's layout in folders, zips' names, Parquet of the hub, and repositories that hold the files by path."""

import gzip

import pytest

from build_data import hub, lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.beir import BeirFiles, BeirSet
from sciprism.errors import InputError
from sciprism.papers.records import Paper

CORPUS = [
    {"_id": "d1", "title": "Ozone", "text": "Ozone is.", "metadata": {}},
    {"_id": 7, "title": None, "text": "Seven."},
    {"_id": "q1", "title": "", "text": ""},
]
QUERIES = [{"_id": "q1", "text": "what is ozone"}, {"_id": "q2", "text": "nobody judged"}, {"_id": 7, "text": "x"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t7\t-1\nq1\tgone\t1\nlost\td1\t1\n7\t7\t1\n"


def folder(path, qrels=QRELS, split="test"):
    lines(path / "corpus.jsonl", CORPUS)
    lines(path / "queries.jsonl", QUERIES)
    text(path / f"qrels/{split}.tsv", qrels)


def hidden(data, query):
    return [data.document_ids[row] for row in data.excluded[list(data.query_ids).index(query)]]


def test_a_folder(tmp_path):
    folder(tmp_path / "mine")
    data = BeirSet(name="mine").read(DataRoot(tmp_path))
    assert data.query_ids == ["q1", "7"] and data.queries == ["what is ozone", "x"] and data.query_role == "query"
    assert data.document_ids == ["d1", "7", "q1", "gone"]
    assert data.documents[:2] == [Paper(id="d1", title="Ozone", abstract="Ozone is."), Paper(id="7", abstract="Seven.")]
    assert [rows.tolist() for rows in data.judged] == [[0, 1, 3], [1]]
    assert [grades.tolist() for grades in data.grades] == [[2, -1, 1], [1]]
    assert hidden(data, "q1") == ["gone", "q1"] and hidden(data, "7") == ["gone", "7"], "not there, or the query itself"
    found = {reason: entry["first"] for reason, entry in data.dropped.to_json().items()}
    assert found == {
        "graded query without a record": ["lost"],
        "graded document without a record, counts as not found": ["gone"],
        "no text": ["q1", "gone"],
    }


def test_what_is_missing_is_named(tmp_path):
    folder(tmp_path / "mine", split="dev")
    with pytest.raises(InputError, match=r"qrels has no test.tsv; it contains dev.tsv"):
        BeirSet(name="mine").read(DataRoot(tmp_path))
    text(tmp_path / "mine/qrels/test.tsv", "q1\td1\n")
    with pytest.raises(InputError, match="line 1: expected 3 or 4 columns"):
        BeirSet(name="mine").read(DataRoot(tmp_path))
    text(tmp_path / "mine/qrels/test.tsv", "q1\td1\thigh\n" * 2)
    with pytest.raises(InputError, match=r"test\.tsv, line 2, grade: 'high' is not a number"):
        BeirSet(name="mine").read(DataRoot(tmp_path))


def test_a_set_from_the_hub_is_what_its_zip_is(tmp_path):
    plain = [{"_id": str(row["_id"]), "title": row["title"] or "", "text": row["text"]} for row in CORPUS]
    base = tmp_path / "hub/BeIR"
    hub(base / "nfcorpus/corpus", "corpus", plain)
    hub(base / "nfcorpus/queries", "queries", [{"_id": str(row["_id"]), "text": row["text"]} for row in QUERIES])
    rows = [line.split("\t") for line in QRELS.splitlines()[1:]]
    judged = [{"query-id": q, "corpus-id": d, "score": int(grade)} for q, d, grade in rows]
    hub(base / "nfcorpus-qrels/default", "test", judged)
    folder(tmp_path / "zips/beir/nfcorpus")
    for place in ("hub", "zips"):
        data = BeirSet(name="nfcorpus").read(DataRoot(tmp_path / place))
        assert data.document_ids == ["d1", "7", "q1", "gone"] and data.query_ids == ["q1", "7"]
        assert hidden(data, "q1") == ["gone", "q1"]
        assert [grades.tolist() for grades in data.grades] == [[2, -1, 1], [1]]


def test_another_data_set_of_the_same_name_is_not_taken(tmp_path):
    text(tmp_path / "scidocs/cite/test.qrel", "q 0 a 1\n")
    with pytest.raises(InputError, match="hf download BeIR/scidocs-qrels"):
        BeirSet(name="scidocs").read(DataRoot(tmp_path))


def test_files_by_path_and_by_their_older_names(tmp_path):
    base = tmp_path / "group/set"
    lines(base / "PPR_corpus.jsonl", CORPUS)
    (base / "queries.jsonl").write_bytes(gzip.compress(b'{"_id": 7, "text": "seven"}\n'))
    text(base / "qrels/test.tsv", "7\t7\t1\n")
    layout = BeirFiles(repo="group/set", corpus=("PPR/corpus.jsonl", "PPR_corpus.jsonl"))
    data = layout.read(DataRoot(tmp_path))
    assert data.query_ids == ["7"] and data.excluded is None, "equal ids are no accident to be mended here"

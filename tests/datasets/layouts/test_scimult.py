"""SciMult's evaluation files in small."""

import pytest

from build_data import lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.published import (
    LinkedPapers,
    MapleLabels,
    PatientSearch,
    SearchCorpus,
    SearchFiles,
    SearchPools,
)
from sciprism.errors import InputError
from sciprism.papers.records import Label


def papers(*names, key="paper", **more):
    return [{key: name, "title": f"title {name}", "abstract": f"about {name}"} | more for name in names]


VOCABULARY = [
    {"label": "11", "name": ["computer vision", "cv"], "definition": "field that sees"},
    {"label": "12", "name": ["sparse coding"], "definition": ""},
    {"label": "13", "name": "optics"},
]


@pytest.fixture
def fine(tmp_path):
    folder = tmp_path / "scimult/classification_fine"
    lines(folder / "Geography_label.json", VOCABULARY)
    rows = [*papers("1", label=["12", "11", "12"]), *papers("1"), *papers(2, label=["99"])]
    lines(folder / "Geography_papers_test.json", rows)
    lines(folder / "Geography_matched.json", [{"candidate": ["13", "11"]}, {"candidate": ["13"]}, {"candidate": []}])
    return DataRoot(tmp_path)


def test_a_vocabulary(fine):
    layout = MapleLabels(name="Geography", folder="scimult/classification_fine", matched=True)
    data = layout.read(fine)
    assert data.labels[0] == Label(id="11", name="computer vision", synonyms=("cv",), definition="field that sees")
    assert data.labels[2] == Label(id="13", name="optics")
    assert data.paper_ids == ["1", "2"] and data.papers[0].abstract == "about 1"
    assert [rows.tolist() for rows in data.gold] == [[1, 0], []], "each label once"
    assert [rows.tolist() for rows in data.matched] == [[2, 0], []], "line by line, without the paper left out"
    assert data.dropped.count("duplicate paper, the first is used") == 1
    assert data.dropped.count("label of paper 2 outside the vocabulary, dropped") == 1
    assert MapleLabels(name="Geography", folder="scimult/classification_fine").read(fine).matched is None


def test_what_is_wrong_with_a_vocabulary_is_told(fine, tmp_path):
    layout = MapleLabels(name="Geography", folder="scimult/classification_fine", matched=True)
    folder = tmp_path / "scimult/classification_fine"
    lines(folder / "Geography_matched.json", [{"candidate": []}])
    with pytest.raises(InputError, match="fewer lines"):
        layout.read(fine)
    lines(folder / "Geography_label.json", VOCABULARY + VOCABULARY[:1])
    with pytest.raises(InputError, match="duplicate label id"):
        layout.read(fine)
    with pytest.raises(InputError, match=r"no Psychology_label.json; .*github.com/yuzhimanhua/SciMult"):
        MapleLabels(name="Psychology", folder="scimult/classification_fine").read(fine)
    with pytest.raises(InputError, match="the data 'elsewhere' are not in"):
        MapleLabels(name="Psychology", folder="elsewhere").read(fine)


def test_classes_numbered_by_their_lines(tmp_path):
    folder = tmp_path / "coarse"
    lines(folder / "MAG_label.json", [{"label": "Art", "name": ["art"], "definition": "d"}, {"name": ["biology"]}])
    lines(folder / "MAG_papers_test.json", [*papers("x", label=1), *papers("y", label=0)])
    layout = MapleLabels(name="MAG", folder="coarse", numbered=True)
    data = layout.read(DataRoot(tmp_path))
    assert [rows.tolist() for rows in data.gold] == [[1], [0]] and [label.id for label in data.labels] == ["Art", "1"]
    lines(folder / "MAG_papers_test.json", papers("x", label=2))
    with pytest.raises(InputError, match="the label 2 is not a line of the label file"):
        layout.read(DataRoot(tmp_path))


def test_links_over_all_papers(tmp_path):
    rows = [
        *papers("a", **{"cite": ["b", "c", "b"], "co-cite": []}),
        *papers("b", **{"cite": [], "co-cite": ["a", "gone"]}),
        *papers("c", **{"cite": ["c"], "co-cite": []}),
    ]
    lines(tmp_path / "links/SciDocs_papers_test.json", rows)
    cite = LinkedPapers(relation="cite", folder="links").read(DataRoot(tmp_path))
    assert cite.query_ids == ["a", "c"] and cite.document_ids == ["a", "b", "c"] and cite.query_role == "paper"
    assert [found.tolist() for found in cite.judged] == [[1, 2], [2]]
    assert cite.excluded is None and cite.dropped.count("duplicate judgement") == 1, "a query may find itself"
    together = LinkedPapers(relation="co-cite", folder="links").read(DataRoot(tmp_path))
    assert together.query_ids == ["b"] and together.document_ids[-1] == "gone"
    assert together.excluded[0].tolist() == [3], "a link that leads nowhere is never found"


def test_searches_among_scored_papers_and_among_all(tmp_path):
    lines(tmp_path / "search/NFCorpus_papers_test.json", papers("1", "2", "3"))
    queries = [
        {"query_id": 7, "query": "sun [SEP] moon", "score": {"2": 2, "1": 0}},
        {"query_id": "8", "query": "", "score": {"3": 1.0}},
    ]
    lines(tmp_path / "search/NFCorpus_queries_test.json", queries)
    files = SearchFiles(name="NFCorpus", folder="search")
    pools, corpus = (layout(files=files).read(DataRoot(tmp_path)) for layout in (SearchPools, SearchCorpus))
    assert pools.query_ids == corpus.query_ids == ["7", "8"] and pools.queries[0] == "sun [SEP] moon"
    assert [rows.tolist() for rows in pools.pools] == [rows.tolist() for rows in corpus.judged] == [[1, 0], [2]]
    assert pools.query_role == corpus.query_role == "query" and corpus.excluded is None
    lines(tmp_path / "search/NFCorpus_queries_test.json", [{"query_id": 7, "query": "x", "score": [1]}])
    with pytest.raises(InputError, match="7: the score is"):
        SearchPools(files=files).read(DataRoot(tmp_path))


@pytest.mark.parametrize(
    "name", ["PPR_test_qrels.tsv", "PPR/PPR_test_qrels.tsv", "PPR/qrels_test.tsv", "qrels_test.tsv"]
)
def test_patients_supervised_under_old_and_new_names(tmp_path, name):
    folder = tmp_path / "scimult/pmc_patients"
    lines(folder / "PMCPatientsPPR_patients_test.json", papers("p1", "p2", key="patient"))
    lines(folder / "PMCPatientsPPR_queries_test.json", papers("p1", "q", key="query"))
    text(folder / name, "query-id\tcorpus-id\tscore\nq\tp1\t1\np1\tp2\t2\n")
    data = PatientSearch(task="PPR").read(DataRoot(tmp_path))
    assert data.query_ids == ["q", "p1"] and [rows.tolist() for rows in data.judged] == [[0], [1]]
    assert [rows.tolist() for rows in data.excluded] == [[], [0]], "a patient does not find himself"


def test_articles_for_patients(tmp_path):
    folder = tmp_path / "scimult/pmc_patients"
    lines(folder / "PMCPatientsPAR_articles_test.json", papers("9", key="article"))
    lines(folder / "PMCPatientsPAR_queries_test.json", papers("q", key="query"))
    with pytest.raises(InputError, match="PAR_test_qrels"):
        PatientSearch(task="PAR").read(DataRoot(tmp_path))
    text(folder / "PAR_test_qrels.tsv", "q\t9\t2\n")
    assert PatientSearch(task="PAR").read(DataRoot(tmp_path)).grades[0].tolist() == [2]

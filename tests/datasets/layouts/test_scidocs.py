"""SciDocs' tables, qrels, metadata and clicks."""

import json

import pytest

from build_data import text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.published import SciDocsClasses, SciDocsClicks, SciDocsPools
from sciprism.errors import InputError
from sciprism.papers.records import Paper


def record(name, **more):
    return {"paper_id": name, "title": f"Title {name}", "abstract": f"About {name}.", "year": 2010} | more


def metadata(path, *records):
    return text(path, json.dumps({found["paper_id"]: found for found in records}))


@pytest.fixture
def scidocs(tmp_path):
    folder = tmp_path / "scidocs"
    metadata(folder / "paper_metadata_mag_mesh.json", record("a"), record("b", abstract=None), record("z"))
    for part, rows in {"train": "a,3\nb,0\n", "val": "a,1\n", "test": "gone,2\nb,0\n"}.items():
        text(folder / f"mag/{part}.csv", f"pid,class_label\n{rows}")
    metadata(folder / "paper_metadata_view_cite_read.json", *map(record, "qabz"))
    text(folder / "coview/test.qrel", "q 0 a 1\nq 0 b 0\nq 0 gone 0\nlost 0 a 1\n")
    metadata(
        folder / "paper_metadata_recomm.json",
        record("p", authors=["x"], references=["s"], cited_by=["t", "u"]),
        record("s"),
        record("t"),
    )
    head = "pid,clicked_pid,similar_papers_avail_at_time\n"
    for part, rows in {"train": 'p,s,"t,s"\n', "val": 'p,u,"t,s"\n', "test": 't,p,"s,p,u"\n'}.items():
        text(folder / f"recomm/{part}.csv", head + rows)
    text(folder / "recomm/propensity_scores.json", '{"scores": [0.5, 0.25]}')
    return DataRoot(tmp_path)


def test_classes(scidocs):
    data = SciDocsClasses(classes="mag").read(scidocs)
    assert data.ids == ["a", "b", "a#2", "gone", "b#2"] and data.targets == ["3", "0", "1", "2", "0"]
    assert data.train.tolist() == [0, 1] and data.dev.tolist() == [2] and data.test.tolist() == [3, 4]
    assert data.items[3] == Paper(id="gone"), "a paper without a record is scored all the same"
    assert data.dropped.count("paper without a record, an empty text is used") == 1


def test_pools(scidocs):
    data = SciDocsPools(relation="coview").read(scidocs)
    assert data.query_ids == ["q"] and data.query_role == "paper"
    assert [data.candidate_ids[row] for row in data.pools[0]] == ["a", "b"] and data.grades[0].tolist() == [1, 0]
    assert "z" not in data.candidate_ids
    assert data.dropped.count("graded document without a record, counts as not found") == 1
    assert data.dropped.count("graded query without a record") == 1


def test_clicks(scidocs):
    data = SciDocsClicks().read(scidocs)
    names = [paper.id for paper in data.papers]
    assert set(names) == {"p", "s", "t", "u"}
    (train,), dev, (test,) = data.train, data.dev, data.test
    assert [names[row] for row in train.shown] == ["t", "s"] and names[train.clicked] == "s"
    assert dev == [] and data.dropped.count("click on a paper that was not shown, dropped") == 1
    assert names[test.paper] == "t" and [names[row] for row in test.shown] == ["s", "p", "u"]
    paper = data.papers[names.index("p")]
    assert (paper.authors, paper.references, paper.year) == (("x",), ("s",), 2010)
    assert data.cited_by[names.index("p")] == {"t", "u"} and data.cited_by[names.index("s")] == set()
    assert data.propensities.tolist() == [0.5, 0.25]
    assert data.dropped.count("paper without a record, an empty text is used") == 1


def test_what_is_missing_or_wrong_is_told(scidocs, tmp_path):
    with pytest.raises(InputError, match="s3://ai2-s2-research-public"):
        SciDocsClasses(classes="mesh").read(scidocs)
    text(tmp_path / "scidocs/mag/val.csv", 'pid,class_label\n"a\nb",x\nc,\n')
    with pytest.raises(InputError, match="line 4: no pid or no class_label"):
        SciDocsClasses(classes="mag").read(scidocs)
    text(tmp_path / "scidocs/coview/test.qrel", "q 0 a 1\nq 0 b maybe\n")
    with pytest.raises(InputError, match="line 2, grade: 'maybe'"):
        SciDocsPools(relation="coview").read(scidocs)
    text(tmp_path / "scidocs/recomm/propensity_scores.json", '{"scores": [0]}')
    with pytest.raises(InputError, match="numbers above 0"):
        SciDocsClicks().read(scidocs)

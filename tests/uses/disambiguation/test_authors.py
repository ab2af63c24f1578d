"""Authors of one name told apart, from papers to the table, through the library and the command."""

import csv
import json

import numpy as np
import pytest

from build_commands import run
from disambiguation import store_trees
from sciprism.papers import read_papers
from sciprism.papers.records import Paper
from sciprism.uses.disambiguation import authors
from sciprism.uses.disambiguation.authors import KnownAuthor, PairModel, disambiguate

BIB = """
@article{{a1, title={{Grasping with soft hands}}, author={{Lee, Ann and Kim, Bo}}, journal={{Robots}}, year=2001}}
@article{{a2, title={{Soft hands that grasp}}, author={{Lee, Ann and Kim, Bo}}, journal={{Robots}}, year=2002}}
@article{{b1, title={{Galaxies in clusters}}, author={{Lee, Anton and Fox, Eve}}, journal={{Stars}}, year=2019}}
@article{{b2, title={{Clusters of galaxies}}, author={{Lee, Anton and Fox, Eve}}{year}}}
@article{{none, title={{Without authors}}}}
"""


def papers(*rows):
    return [Paper(id=id, title="On things", authors=tuple(names.split("; ")), year=2000) for id, names in rows]


def group(result):
    found = {}
    for row in result.rows:
        found.setdefault(row.author_id, []).append((row.paper_id, row.position))
    return sorted(found.values())


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.bib").write_text(BIB.format(year=""))
    return lambda *words: run(monkeypatch, capsys, "disambiguate", *words)


def read(path):
    with path.open(newline="") as file:
        return {(row["paper_id"], int(row["position"])): row for row in csv.DictReader(file)}


def test_each_signature_has_a_row_with_a_reason(command, tmp_path):
    status, out, err = command("refs.bib", "-o", "authors.csv")
    assert status == 0, err
    assert "8 signatures, 4 authors, 4 of these with several papers" in out
    rows = read(tmp_path / "authors.csv")
    assert rows["a1", 1]["author_id"] == rows["a2", 1]["author_id"] == "a-lee-1"
    assert rows["b1", 1]["author_id"] == rows["b2", 1]["author_id"] == "a-lee-2"
    reason = rows["a1", 1]["reason"]
    assert reason == "as Ann Lee of a2: same full name, coauthor Bo Kim, same venue, 1 year apart"
    assert float(rows["a1", 1]["probability"]) > 0.8


def test_ids_given_before_stay_and_others_are_kept(command, tmp_path):
    known = ("a1,1,Ann Lee,lee7", "b1,1,Anton Lee,a-lee-1", "gone,1,Ada Poe,poe", "b2,2,Z. Z,zz", "b2,3,Una Ray,ray")
    (tmp_path / "known.csv").write_text("\n".join(["paper_id,position,name,author_id", *known]))
    status, out, err = command("refs.bib", "--known", "known.csv", "-o", "known.csv")
    assert status == 0, err
    rows = read(tmp_path / "known.csv")
    assert [rows[paper, 1]["author_id"] for paper in ("a1", "a2", "b1", "b2")] == ["lee7", "lee7", "a-lee-1", "a-lee-1"]
    assert rows["gone", 1]["author_id"] == "poe" and rows["b2", 3]["author_id"] == "ray"
    assert "2 known signatures of other papers or positions" in out
    assert "b2, author 2: 'Eve Fox' now, not 'Z. Z'" in out
    assert rows["a1", 1]["reason"] == "id given before"
    assert list(rows["a1", 1]) == ["paper_id", "position", "name", "author_id", "orcid", "probability", "reason"]
    found = json.loads(command("refs.bib", "--known", "known.csv", "-o", "again.csv", "--json")[1])
    assert found["counts"]["authors"] == 4 and found["signatures"][0]["author_id"] == "lee7"
    assert command("refs.bib", "--known", "known.csv", "-o", "known.csv")[0] == 0
    again = read(tmp_path / "known.csv")
    assert [(key, row["author_id"]) for key, row in again.items()] == [(k, r["author_id"]) for k, r in rows.items()]


def test_orcids_join_and_separate():
    rows = papers(("p", "Ann Lee"), ("q", "Ann Lee"), ("r", "A. Smith-Lee"))
    one, other = "0000-0002-1825-0097", "0000-0001-5109-3700"
    apart = disambiguate(rows, known={("p", 1): KnownAuthor(orcid=one), ("q", 1): KnownAuthor(orcid=other)})
    assert len(group(apart)) == 3 and apart.rows[0].author_id == one and apart.rows[0].reason == "ORCID"
    joined = disambiguate(rows, known={("p", 1): KnownAuthor("lee", one), ("r", 1): KnownAuthor(orcid=one)})
    assert joined.rows[2].author_id == "lee"  # a name of another block
    both = {("p", 1): KnownAuthor("a", one), ("q", 1): KnownAuthor("b", one), ("r", 1): KnownAuthor(orcid=one)}
    result = disambiguate(rows, known=both)
    assert [row.author_id for row in result.rows][:2] == ["a", "b"] and result.rows[2].author_id not in "ab"
    assert result.conflicts == [
        f"ORCID {one} has the ids a, b, which stay; its other signatures count as without ORCID"
    ]


ORCID = "0000-0002-1825-0097"
FILES = {
    "works.jsonl": '{"id": "https://openalex.org/W1", "title": "On ponds", "authorships": [{"author": '
    '{"display_name": "Ann Lee", "orcid": "https://orcid.org/0000-0002-1825-0097"}}]}',
    "crossref.json": '[{"DOI": "10.1/a", "type": "journal-article", "title": ["On ponds"], "author": '
    '[{"given": "Ann", "family": "Lee", "ORCID": "http://orcid.org/0000-0002-1825-0097"}]}]',
    "pubmed.xml": "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>On ponds"
    "</ArticleTitle><AuthorList><Author><LastName>Lee</LastName><ForeName>Ann</ForeName><Identifier Source='ORCID'>"
    "0000-0002-1825-0097</Identifier></Author></AuthorList></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>",
}


@pytest.mark.parametrize("name", FILES)
def test_orcids_of_files_are_used(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    row = disambiguate(read_papers(tmp_path / name)).rows[0]
    assert (row.name, row.author_id, row.orcid) == ("Ann Lee", ORCID, ORCID)


def test_placeholder_orcids_and_spellings_of_one_name(tmp_path):
    """Zeros, a wrong check digit and an id of two identify nobody; 山田太郎 is one name however it is divided."""
    false = {"Ann Lee": "0000-0000-0000-0000", "Bo Kim": "0000-0001-2345-6780"}
    found = disambiguate([Paper(id=name, authors=("Ann Lee", "Bo Kim"), orcids=false) for name in "pq"])
    assert not any(row.orcid for row in found.rows) and len(found.conflicts) == 4
    twice = Paper(id="p", authors=("Ann Lee", "Bo Kim"), orcids={"Ann Lee": ORCID, "Bo Kim": ORCID})
    assert [row.orcid for row in disambiguate([twice]).rows] == ["", ""]
    for person in ({"given": "太郎", "family": "山田"}, {"literal": "山田, 太郎"}, {"literal": "山田 太郎"}):
        (tmp_path / "a.json").write_text(json.dumps([{"id": "a", "title": "Ice", "author": [person]}]))
        (paper,) = read_papers(tmp_path / "a.json")
        assert len(group(disambiguate([paper, Paper(id="b", authors=("山田太郎",), venue=paper.venue)]))) == 1


def test_two_authors_of_one_paper_are_never_one():
    result = disambiguate(papers(("p", "J. Wu; J. Wu"), ("q", "J. Wu"), ("q", "repeated")))
    assert result.rows[0].author_id != result.rows[1].author_id
    assert result.repeated == 1 and "must be another" in disambiguate(papers(("p", "J. Wu; J. Wu"))).rows[0].reason


def test_a_large_block_is_divided_and_said(monkeypatch):
    monkeypatch.setattr(authors, "MAX_BLOCK", 3)
    names = ["Jun Wu", "Jing Wu", "Jun Wu", "Jing Wu", "--"]
    result = disambiguate(papers(*((str(n), name) for n, name in enumerate(names))))
    assert result.divided == ["j wu (4 signatures)"] and result.unnamed == 1
    assert not {"0", "2"} & {row.paper_id for row in result.rows if row.author_id == result.rows[1].author_id}


def test_stored_trees_predict_as_lightgbm(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    table = rng.random((2000, 39)).astype(np.float32)
    table[rng.random(table.shape) < 0.2] = np.nan
    same = np.nan_to_num(table[:, 0]) + 0.5 * np.nan_to_num(table[:, 2]) > 0.7
    columns = [0, 2, 13]
    data = lightgbm.Dataset(table[:, columns], same.astype(np.int8))
    booster = lightgbm.train(
        {"objective": "binary", "num_leaves": 6, "verbose": -1, "num_threads": 1}, data, num_boost_round=8
    )
    stored = {"trees": store_trees(booster.dump_model(), columns), "cut": 0.5}
    (tmp_path / "model.json").write_text(json.dumps(stored))
    difference = np.abs(
        1 - PairModel.load(tmp_path / "model.json").distances(table) - booster.predict(table[:, columns])
    )
    assert np.quantile(difference, 0.99) < 1e-3  # thresholds are rounded

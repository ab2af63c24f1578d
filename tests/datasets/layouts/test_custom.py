"""User data for each protocol: files found in a folder, files given by name, errors."""

import json

import numpy as np
import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.custom import CustomCorpus, CustomLabels, CustomPools, CustomReviewers
from sciprism.datasets.layouts.mentions import CustomMentions
from sciprism.errors import InputError
from sciprism.papers import Paper

BIB = """
@misc{dark, title={Dark matter}, abstract={Galaxies turn.}, keywords={Cosmology; dark matter}}
@misc{cell, title={Cells}, abstract={They divide.}, keywords={biology}}
@misc{light, title={Light}, abstract={Waves.}, keywords={optics, cosmology}}
"""


@pytest.fixture
def folder(tmp_path):
    """Write files by name into a folder beside three papers, and return it."""

    def make(**files):
        (tmp_path / "papers.bib").write_text(BIB)
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            path = tmp_path / f"{stem.replace('__', '/')}.{ending}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return str(tmp_path)

    return make


def table(*rows):
    return "\n".join(map(json.dumps, rows))


def grades(corpus):
    names = corpus.document_ids
    return {
        query: dict(zip([names[row] for row in rows], mine.tolist(), strict=True))
        for query, rows, mine in zip(corpus.query_ids, corpus.judged, corpus.grades, strict=True)
    }


QUERIES = "id\ttext\nq1\twhat is dark\nq2\twhat lives\nq3\tnobody asks\n"
QRELS = "q1\t0\tdark\t2\nq1\t0\tlight\t0.4\nq2\t0\tcell\t1\n"


def test_papers_queries_and_qrels_found_in_a_folder(folder):
    found = CustomCorpus(data=folder(queries_tsv=QUERIES, qrels_txt=QRELS)).read(DataRoot())
    assert found.document_ids == ["dark", "cell", "light"] and found.documents[0].abstract == "Galaxies turn."
    assert found.queries == ["what is dark", "what lives"] and found.query_role == "query"
    assert grades(found) == {"q1": {"dark": 2, "light": 0.4}, "q2": {"cell": 1}}
    assert found.excluded is None and found.dropped.to_json()["query without judgements"]["first"] == ["q3"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_judgements_in_tables_with_names_of_columns(folder, ending):
    first, second = {"query-id": "q1", "document_id": "dark", "grade": 2.0}, {"query-id": "q2", "document_id": "cell"}
    texts = {"csv": "query-id,document_id,grade\nq1,dark,2\nq2,cell,\n", "jsonl": table(first, second)}
    home = folder(**{"queries_tsv": QUERIES, f"qrels_{ending}": texts[ending]})
    assert grades(CustomCorpus(data=home).read(DataRoot())) == {"q1": {"dark": 2}, "q2": {"cell": 1}}


def test_without_queries_papers_are_the_queries_and_do_not_find_themselves(folder):
    home = folder(qrels_tsv="dark light 1\ncell dark 0\n")
    found = CustomCorpus(data=home).read(DataRoot())
    assert found.query_role == "paper" and [paper.id for paper in found.queries] == ["dark", "cell"]
    assert [rows.tolist() for rows in found.excluded] == [[0], [1]]
    assert CustomCorpus(data=home, without_itself=False).read(DataRoot()).excluded is None


def test_a_folder_of_beir_and_its_splits(folder):
    corpus = [{"_id": 1, "title": "Dark", "text": "matter"}, {"_id": "2", "title": "", "text": "Cells"}]
    home = folder(
        corpus_jsonl=table(*corpus),
        queries_jsonl='{"_id": "q1", "text": "dark"}\n{"_id": "q2", "text": "cell"}',
        qrels__test_tsv="query-id\tcorpus-id\tscore\nq1\t1\t1\n",
        qrels__train_tsv="query-id\tcorpus-id\tscore\nq2\t2\t1\n",
    )
    tested = CustomCorpus(data=home).read(DataRoot())
    assert grades(tested) == {"q1": {"1": 1}} and not tested.dropped.count("query without judgements")
    both = CustomCorpus(data=home, split=("train", "test")).read(DataRoot())
    assert grades(both) == {"q2": {"2": 1}, "q1": {"1": 1}}
    assert both.documents[1] == Paper(id="2", abstract="Cells")
    with pytest.raises(InputError, match="no file named dev; it contains test"):
        CustomCorpus(data=home, split=("dev",)).read(DataRoot())


def test_each_part_may_be_named(folder, tmp_path):
    home = folder(asked_csv="id;text\nq1;dark?\n", judged_tsv="q1 dark 1\n", more_csv="id,title\nnew,Newer\n")
    stated = {"papers": (f"{home}/papers.bib", f"{home}/more.csv"), "queries": f"{home}/asked.csv"}
    found = CustomCorpus(qrels=f"{home}/judged.tsv", **stated).read(DataRoot())
    assert found.document_ids[-1] == "new" and grades(found) == {"q1": {"dark": 1}}
    with pytest.raises(InputError, match="no judgements: set qrels to their file"):
        CustomCorpus(**stated).read(DataRoot())
    with pytest.raises(InputError, match="no papers: set papers to their file"):
        CustomCorpus(qrels=f"{home}/judged.tsv").read(DataRoot())
    with pytest.raises(InputError, match="is a file; split test needs a folder"):
        CustomCorpus(qrels=f"{home}/judged.tsv", split=("test",), **stated).read(DataRoot())
    with pytest.raises(InputError, match="is not a folder"):
        CustomCorpus(data=f"{home}/papers.bib").read(DataRoot())


def test_judgements_that_lead_nowhere_are_counted(folder):
    home = folder(queries_tsv=QUERIES, qrels_tsv="q1 dark 1\nq1 lost 1\nq9 cell 1\n")
    dropped = CustomCorpus(data=home, allow_missing=True).read(DataRoot()).dropped.ids
    assert dropped["graded query without a record"] == ["q9"]
    assert dropped["graded document without a record, counts as not found"] == ["lost"]


@pytest.mark.parametrize("layout", [CustomCorpus, CustomPools])
@pytest.mark.parametrize(
    ("qrels", "allowed", "message"),
    [
        ("q1 dark 1\nq1 light much\n", False, r"qrels\.tsv, line 2, grade: 'much' is not a number"),
        ("7 dark 1\n", False, r"none of the 1 graded queries is known: the first is '7', .* id 'q1'"),
        ("q1 7 1\nq1 dark 0\n", True, r"none of the 1 relevant papers is known: the first is '7', .* id 'dark'"),
        (
            "".join(f"q1 {name} 1\n" for name in ("dark", "cell", "light", "new")),
            False,
            r"1 of 4 relevant papers are unknown \(25%.*'new'; .* allow_missing = true",
        ),
    ],
)
def test_judgements_that_are_wrong_or_lead_nowhere_are_refused(folder, layout, qrels, allowed, message):
    with pytest.raises(InputError, match=message):
        layout(data=folder(queries_tsv=QUERIES, qrels_tsv=qrels), allow_missing=allowed).read(DataRoot())


def test_pools_hold_the_judged_papers(folder):
    home = folder(queries_tsv=QUERIES, qrels_tsv="q1 dark 2\nq1 cell 0\nq1 lost 1\nq2 light 0\n")
    found = CustomPools(data=home, allow_missing=True).read(DataRoot())
    assert found.query_ids == ["q1", "q2"] and found.candidate_ids == ["dark", "cell", "light"]
    assert [rows.tolist() for rows in found.pools] == [[0, 1], [2]]
    assert [mine.tolist() for mine in found.grades] == [[2, 0], [0]]
    assert found.dropped.ids["query without a relevant paper"] == ["q2"]
    assert found.dropped.count("graded document without a record, counts as not found") == 1


VOCABULARY = "id,name,synonyms\nC1,Cosmology,the universe\nB1,Biology,\nO1,Optics,light science\n"


def test_papers_with_labels_by_id_name_or_synonym(folder):
    records = [
        {"id": "1", "title": "A", "labels": ["C1", "light science", "unheard"]},
        {"id": "2", "title": "B", "labels": ["biology"]},
        {"id": "3", "title": "C", "labels": []},
    ]
    home = folder(things_jsonl=table(*records), labels_csv=VOCABULARY)
    found = CustomLabels(papers=(f"{home}/things.jsonl",), labels=f"{home}/labels.csv").read(DataRoot())
    assert [label.id for label in found.labels] == ["C1", "B1", "O1"]
    assert [rows.tolist() for rows in found.gold] == [[0, 2], [1], []]
    assert found.dropped.to_json()["label outside the vocabulary"]["first"] == ["unheard"]


def test_keywords_of_a_bibliography_are_labels(folder):
    home = folder(labels_csv=VOCABULARY)
    found = CustomLabels(data=home, label="keywords").read(DataRoot())
    assert [rows.tolist() for rows in found.gold] == [[0], [1], [0, 2]]
    with pytest.raises(InputError, match='set label = "keywords" or "fields"'):
        CustomLabels(data=home).read(DataRoot())


def test_without_a_vocabulary_it_is_what_the_papers_carry(folder):
    home = folder(things_csv="id,title,topic\n1,A,Red; blue\n2,B,red\n")
    found = CustomLabels(data=f"{home}/things.csv", label="topic").read(DataRoot())
    assert [label.name for label in found.labels] == ["blue", "red"]
    assert [rows.tolist() for rows in found.gold] == [[0, 1], [1]]
    with pytest.raises(InputError, match="no topics; the row has id, title, topic"):
        CustomLabels(data=f"{home}/things.csv", label="topics").read(DataRoot())


REVIEWERS = "reviewer_id,papers\nann,dark;light\nbob,cell;lost\ncyd,\n"


def test_reviewers_and_ratings(folder):
    ratings = "paper_id,reviewer_id,rating\ndark,ann,3\ndark,bob,1\ncell,dan,2\nlight,cyd,0.5\n"
    home = folder(reviewers_csv=REVIEWERS, ratings_csv=ratings)
    with pytest.raises(InputError, match="1 of 4 papers of reviewers are unknown"):
        CustomReviewers(data=home).read(DataRoot())
    found = CustomReviewers(data=home, allow_missing=True).read(DataRoot())
    assert found.reviewer_ids == ["ann", "bob", "cyd"]
    assert [rows.tolist() for rows in found.profiles] == [[0, 2], [1], []]
    assert found.pairs.tolist() == [[0, 0], [0, 1], [2, 2]] and found.ratings.tolist() == [3, 1, 0.5]
    dropped = found.dropped.to_json()
    assert dropped["unknown paper of a reviewer"]["first"] == ["bob: lost"]
    assert dropped["rating of an unknown paper or reviewer"]["first"] == ["cell dan"]


@pytest.mark.parametrize(
    "reviewers, ratings, message",
    [
        (REVIEWERS + "ann,cell\n", "dark,ann,3", "line 5: duplicate reviewer ann"),
        (REVIEWERS, "dark,ann,3\ndark,ann,2", "line 3: reviewer ann and paper dark are rated twice"),
        (REVIEWERS, "dark,ann,high", "line 2: rating: 'high' is not a number"),
        (REVIEWERS, "dark,eve,1", "none of the 1 rated pairs of a paper and a reviewer is known"),
    ],
)
def test_wrong_ratings_are_told(folder, reviewers, ratings, message):
    home = folder(reviewers_csv=reviewers, ratings_csv=f"paper_id,reviewer_id,rating\n{ratings}\n")
    with pytest.raises(InputError, match=message):
        CustomReviewers(data=home, allow_missing=True).read(DataRoot())


def test_mentions_of_authors(tmp_path):
    papers = [{"id": "p", "title": "T", "authors": ["Ada Byron", "Bo Li"]}, {"id": "q", "title": "U"}]
    (tmp_path / "papers.jsonl").write_text(table(*papers))
    first = {"signature_id": 1, "paper_id": "p", "name": "Ada Byron", "author_id": "A", "split": "train"}
    rows = [
        first | {"position": 0, "affiliations": ["Oxford"], "email": "a@b.c"},
        first | {"signature_id": 2, "name": "Byron, A.", "split": "train"},
        first | {"signature_id": 3, "name": "Bo Li", "block": "li", "split": "val"},
        first | {"signature_id": 4, "paper_id": "q", "name": "Cy Oh", "split": "test"},
        first | {"signature_id": 5, "paper_id": "lost", "name": "Cy Oh"},
    ]
    (tmp_path / "signatures.jsonl").write_text(table(*rows))
    found = CustomMentions(data=str(tmp_path)).read(DataRoot())
    assert [each.block for each in found.signatures] == ["a byron", "a byron", "li", "c oh"]
    assert (found.train, found.dev, found.test) == ({"a byron"}, {"li"}, {"c oh"})
    ada = found.signatures[0]
    assert (ada.coauthors, ada.affiliations, ada.email, ada.author) == (("Bo Li",), ("Oxford",), "a@b.c", "A")
    assert found.signatures[2].coauthors == ("Ada Byron",) and found.signatures[3].paper == 1
    assert found.dropped.count("mention of an unknown paper") == 1
    (tmp_path / "signatures.jsonl").write_text(table(*rows, rows[0] | {"signature_id": 6, "split": "test"}))
    with pytest.raises(InputError, match="line 6: block 'a byron' is in two splits, 'train' and 'test'"):
        CustomMentions(data=str(tmp_path)).read(DataRoot())


def test_blocks_without_a_split_are_drawn(tmp_path):
    (tmp_path / "papers.csv").write_text("id,title\np,T\n")
    rows = [{"signature_id": n, "paper_id": "p", "name": f"A Name{n % 20}", "author_id": n} for n in range(60)]
    (tmp_path / "signatures.jsonl").write_text(table(*rows))
    found = CustomMentions(data=str(tmp_path)).read(DataRoot())
    assert [len(part) for part in (found.train, found.dev, found.test)] == [10, 4, 6]
    assert len(found.train | found.dev | found.test) == 20
    assert sum("sampled" in reason for reason in found.dropped.to_json()) == 3
    assert np.unique([each.paper for each in found.signatures]).tolist() == [0]

"""SciRepEval's data as Parquet of the hub."""

import pytest

from build_data import hub, paper
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.published import HubTexts, PaperLabels, RankedPapers, ReviewerPapers
from sciprism.errors import InputError
from sciprism.papers.records import Paper

TEXTS, LABELS = "allenai/scirepeval", "allenai/scirepeval_test"


def build_hub_texts(config):
    return HubTexts(texts=config, labels=config)


def labels(folder, config, **splits):
    for split, rows in splits.items():
        hub(folder / LABELS / config, split, rows)


def ranked(folder, config, rows, split="test"):
    keys = ("query_id", "cand_id", "score")
    labels(folder, config, **{split: [dict(zip(keys, row, strict=True)) for row in rows]})


@pytest.fixture
def biomimicry(tmp_path):
    records = [paper("a"), paper("b", abstract=None), paper("c", title=None, abstract=None), paper("d"), paper("x")]
    hub(tmp_path / TEXTS / "biomimicry", "evaluation", records, parts=2)
    labels(
        tmp_path,
        "biomimicry",
        train=[{"paper_id": "a", "label": 1}, {"paper_id": "b", "label": 0}, {"paper_id": "gone", "label": 0}],
        test=[{"paper_id": "c", "label": 1}, {"paper_id": "d", "label": 0}, {"paper_id": "d", "label": 1}],
    )
    return tmp_path


def test_classes_of_the_hub(biomimicry):
    data = PaperLabels(hub=build_hub_texts("biomimicry"), kind="class", positive="1").read(DataRoot(biomimicry))
    assert data.ids == ["a", "b", "c", "d", "d#2"]
    assert data.targets == ["1", "0", "1", "0", "1"]
    assert data.train.tolist() == [0, 1] and data.test.tolist() == [2, 3, 4] and data.positive == "1"
    assert data.items[1] == Paper(id="b", title="Title b")
    assert {reason: found["first"] for reason, found in data.dropped.to_json().items()} == {
        "labelled paper without a record, dropped": ["gone"],
        "no abstract": ["b"],
        "no text": ["c"],
        "duplicate labelled paper": ["d"],
    }
    labels(biomimicry, "biomimicry", test=[{"paper_id": "nobody", "label": 1}])
    with pytest.raises(InputError, match="no labelled paper has a text"):
        PaperLabels(hub=build_hub_texts("biomimicry")).read(DataRoot(biomimicry))


def test_several_classes_and_numbers(tmp_path):
    hub(tmp_path / TEXTS / "fos", "evaluation", [paper("1"), paper("2")])
    train, test = {"paper_id": "1"}, {"paper_id": "2"}
    labels(tmp_path, "fos", train=[train | {"label": [0, 1, 1]}], test=[test | {"label": [0, 0, 0]}])
    data = PaperLabels(hub=build_hub_texts("fos"), kind="classes").read(DataRoot(tmp_path))
    assert data.ids == ["1", "2"] and data.targets == [("1", "2"), ()]
    labels(tmp_path, "fos", train=[train | {"label": "0.25"}], test=[test | {"label": "3"}])
    numbers = PaperLabels(hub=build_hub_texts("fos"), kind="number")
    assert numbers.read(DataRoot(tmp_path)).targets == [0.25, 3.0]
    with pytest.raises(InputError, match="not a vector of 0 and 1"):
        PaperLabels(hub=build_hub_texts("fos"), kind="classes").read(DataRoot(tmp_path))
    labels(tmp_path, "fos", train=[train | {"label": "high"}])
    with pytest.raises(InputError, match="paper 1, label: 'high' is not a number"):
        numbers.read(DataRoot(tmp_path))


def candidate(name, **more):
    return paper(name, corpus_id=int(name), venue="V", year=1964.0, author_names=["A B"], score=1) | more


def test_queries_of_words(tmp_path):
    rows = [
        {"doc_id": "q7", "query": "graph kernels", "candidates": [candidate("11"), candidate("12", year=None)]},
        {"doc_id": "q8", "query": "never asked", "candidates": [candidate("11"), candidate("99")]},
    ]
    hub(tmp_path / TEXTS / "search", "evaluation", rows)
    ranked(tmp_path, "search", [("q7", "11", 4), ("q7", "12", 0), ("q7", "11", 0), ("q7", "13", 2), ("q9", "11", 1)])
    data = RankedPapers(hub=build_hub_texts("search"), query="query").read(DataRoot(tmp_path))
    assert list(data.query_ids) == ["q7"] and list(data.queries) == ["graph kernels"]
    assert data.query_role == "query" and data.candidate_ids == ["11", "12"]
    assert data.candidates[0] == Paper(
        id="11", title="Title 11", abstract="About 11.", venue="V", year=1964, authors=("A B",)
    )
    assert data.candidates[1].year is None
    assert data.pools[0].tolist() == [0, 1] and data.grades[0].tolist() == [4, 0], "the first row of a pair counts"
    assert {reason: found["first"] for reason, found in data.dropped.to_json().items()} == {
        "duplicate judgement with another grade, the first is used": ["q7 11"],
        "graded document without a record, counts as not found": ["13"],
        "graded query without a record": ["q9"],
    }


def test_queries_that_are_papers_share_ids_with_candidates(tmp_path):
    asked = {"5": ("6", "7"), "6": ("8",)}
    rows = [{"dataset": "x", "query": paper(q), "candidates": [*map(candidate, some)]} for q, some in asked.items()]
    hub(tmp_path / TEXTS / "same_author", "evaluation", rows)
    ranked(tmp_path, "same_author", [("5", "6", 1), ("5", "7", 0), ("6", "5", 1), ("8", "7", 1)])
    data = RankedPapers(hub=build_hub_texts("same_author")).read(DataRoot(tmp_path))
    assert data.query_ids == ["5", "6", "8"] and data.query_role == "paper"
    assert [[data.candidate_ids[row] for row in pool] for pool in data.pools] == [["6", "7"], ["5"], ["7"]]
    assert data.queries[2].id == "8"


def test_single_papers_serve_as_queries_and_candidates(tmp_path):
    hub(tmp_path / TEXTS / "scidocs_view_cite_read", "evaluation", [paper(name) for name in "abcz"])
    ranked(tmp_path, "scidocs_cite", [("a", "b", 1), ("a", "c", 0), ("b", "a", 1)])
    where = HubTexts(texts="scidocs_view_cite_read", labels="scidocs_cite")
    data = RankedPapers(hub=where, simple=True).read(DataRoot(tmp_path))
    assert data.candidate_ids == ["a", "b", "c"], "papers that nobody judged are not encoded"
    assert [pool.tolist() for pool in data.pools] == [[1, 2], [0]]
    with pytest.raises(InputError, match="a record without a query"):
        RankedPapers(hub=where).read(DataRoot(tmp_path))


def test_reviewers(tmp_path):
    pairs = [("s", "r1"), ("s", "r2"), ("s", "r3"), ("t", "r1")]
    for split, scores in (("test_hard", (1, 0, 1, 1)), ("test_soft", (1, 1, 1, 1))):
        ranked(tmp_path, "prm", [(*pair, score) for pair, score in zip(pairs, scores, strict=True)], split)
    hub(tmp_path / TEXTS / "prm", "evaluation", [paper(name) for name in ("s", "1", "2", "3")])
    papers = {"r1": ["1", "2"], "r2": ["2", "9"], "r3": ["9"]}
    reviewers = [{"r_id": name, "papers": some} for name, some in papers.items()]
    hub(tmp_path / LABELS / "reviewers", "metadata", reviewers)
    data = ReviewerPapers(hub=build_hub_texts("prm")).read(DataRoot(tmp_path))
    assert data.reviewer_ids == ["r1", "r2"]
    assert [[data.paper_ids[row] for row in rows] for rows in data.profiles] == [["1", "2"], ["2"]]
    assert [(data.paper_ids[row], data.reviewer_ids[number]) for row, number in data.pairs] == pairs[:2]
    assert data.ratings.tolist() == [3, 2]
    assert data.dropped.count("submission or reviewer's paper without a record, dropped") == 2
    assert data.dropped.count("rated pair without submission or reviewer, dropped") == 2

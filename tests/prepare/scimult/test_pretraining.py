"""The five sources of Table A1, counted by hand, and what must hold of any label pairs."""

from collections import Counter

import pytest

from build_data import lines, paper
from sciprism.errors import InputError
from sciprism.prepare.scimult import maple as label_sources
from sciprism.prepare.scimult.maple import (
    NO_TITLE,
    write_biology_and_medicine,
    write_citation_triplets,
    write_coarse,
    write_cs_journal,
    write_search_lists,
)
from sciprism.training.examples import read_examples


def pairs_of(context, file):
    examples = read_examples(context.out / "pretrain" / file, query="paper", candidate="label")
    return {e.query.id: ([i.id for i in e.positives], [i.id for i in e.negatives]) for e in examples}


def test_cs_journal(raw, context):
    """1 is related to 2 alone, which it cites; 2 and 3 share an author, 4 stands alone."""
    raw.topics()
    raw.maple(
        "Computer_Science",
        [
            {"paper": "1", "label": ["11", "77"], "reference": ["2", "8"], "author": ["x"]},
            {"paper": "2", "label": ["12"], "author": ["y"], "venue": "v1"},
            {"paper": "3", "label": ["11"], "author": ["y", "z"], "venue": "v3"},
            {"paper": "4", "label": ["13"], "venue": "v4"},
            {"paper": "5", "label": ["77"]},
            {"paper": "6", "label": ["11"], "title": "", "abstract": ""},
            {"paper": "1", "label": ["13"]},
        ],
    )
    data_set = write_cs_journal(context)
    assert (data_set.queries, data_set.targets) == (4, 4)
    assert data_set.counts == {
        "examples": 4,
        "positive pairs": 4,
        "hard negatives": 3,
        "negatives: author": 2,
        "negatives: citation": 1,
        "negatives: none": 1,
    }
    assert dict(data_set.dropped.ids) == {
        "paper without a label of the vocabulary, dropped": ["5"],
        "duplicate paper, the first is used": ["1"],
        "no text": ["6"],
    }
    assert pairs_of(context, "cs-journal.jsonl") == {
        "1": (["11"], ["12"]),
        "2": (["12"], ["11"]),
        "3": (["11"], ["12"]),
        "4": (["13"], []),
    }
    first = next(read_examples(context.out / "pretrain/cs-journal.jsonl", query="paper", candidate="label"))
    assert (first.query.title, first.query.abstract) == ("title 1", "about 1")
    assert (first.positives[0].name, first.positives[0].definition) == ("computer vision", "field that sees")
    assert [path.name for path in (context.out / "pretrain").iterdir()] == ["cs-journal.jsonl"]


def test_a_label_stands_in_100_pairs_at_most(raw, context):
    raw.topics()
    raw.maple("Computer_Science", [{"paper": str(i), "label": ["11"]} for i in range(101)])
    data_set = write_cs_journal(context)
    assert (data_set.queries, data_set.targets) == (100, 100)
    assert data_set.dropped.count("pair beyond the maximum of its label") == 1


def test_two_folders_of_mesh_are_one_source_and_half_of_it_is_told(raw, context):
    rows = [{"paper": "2", "label": ["D3"], "venue": "v"}, {"paper": "1", "label": ["D2"]}]
    raw.maple("Medicine_MeSH", rows, mesh="D3\teye\n")
    half = write_biology_and_medicine(context)
    missing = [name.partition(":")[0] for name in half.missing_inputs]
    assert half.queries == 1 and missing == ["maple/Biology_MeSH/papers.json", "mesh/desc2022.xml"]
    raw.descriptors()
    raw.maple("Biology_MeSH", [{"paper": "1", "label": ["D1"], "venue": "v"}], mesh="D1\tneoplasms\n")
    data_set = write_biology_and_medicine(context)
    assert (data_set.queries, data_set.targets, data_set.missing_inputs) == (2, 2, ())
    assert pairs_of(context, "biology-medicine.jsonl") == {"1": (["D1"], ["D3"]), "2": (["D3"], ["D1"])}


def test_coarse(raw, context, monkeypatch):
    """Two papers a field; 3 stands in both, for Art if it is drawn there; Computer_Science is no field."""
    monkeypatch.setattr(label_sources, "PAPERS_PER_FIELD", 2)
    raw.maple("Art", [{"paper": i} for i in "123"] + [{"paper": "0", "title": "", "abstract": ""}])
    raw.maple("Political_Science_MAG", [{"paper": i} for i in "345"])
    raw.maple("Computer_Science", [{"paper": "9"}])
    data_set = write_coarse(context)
    assert (data_set.queries, data_set.targets, len(data_set.missing_inputs)) == (4, 4, 16)
    found = Counter(labels[0] for labels, _ in pairs_of(context, "coarse.jsonl").values())
    assert found == {"Art": 2, "Political_Science": 2}
    example = list(read_examples(context.out / "pretrain/coarse.jsonl", query="paper", candidate="label"))[-1]
    assert (example.positives[0].name, example.positives[0].definition) == ("political science", "")


@pytest.mark.parametrize("parquet", [False, True])
def test_citation_triplets(raw, context, parquet):
    raw.triplets("train", [("a", "b", "c"), ("a", "b", "d"), ("e", "a", "b"), ("a", "x", "y")], parquet=parquet)
    raw.triplets("validation", [("f", "b", "c")], parquet=parquet)
    data_set = write_citation_triplets(context)
    assert (data_set.queries, data_set.targets, data_set.missing_inputs) == (3, 5, ())
    assert data_set.counts["examples"] == 4, "a comes again"
    examples = list(read_examples(context.out / "pretrain/citations.jsonl", query="paper", candidate="paper"))
    assert [(e.query.id, [i.id for i in e.positives], [i.id for i in e.negatives]) for e in examples] == [
        ("a", ["b", "b"], ["c", "d"]),
        ("e", ["a"], ["b"]),
        ("a", ["x"], ["y"]),
        ("f", ["b"], ["c"]),
    ]
    assert (examples[0].query.title, examples[0].query.abstract) == ("Title a", "About a.")


def test_triplets_by_sha_and_without_titles(context):
    path = context.raw / "scirepeval/cite_prediction/train.jsonl"
    old = {"corpus_id": None, "sha": "aa", "title": "T", "abstract": None}
    lines(path, [{"query": old, "pos": paper("b", title=title), "neg": paper("c")} for title in ("T b", "")])
    data_set = write_citation_triplets(context)
    assert (data_set.queries, data_set.targets) == (1, 1) and data_set.dropped.ids == {NO_TITLE: ["aa b c"]}
    assert data_set.missing_inputs == ("allenai/scirepeval/cite_prediction, split validation",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"query": {"doc_id": "1"}, "pos": 3}', "line 1, pos: a paper without doc_id, corpus_id, paper_id, sha: 3"),
        ('{"query": {"title": "1"}}', "line 1, query: a paper without doc_id, corpus_id, paper_id, sha"),
        ("{", "line 1: not valid JSON"),
    ],
)
def test_a_broken_triplet_is_named(context, line, reason):
    path = lines(context.raw / "scirepeval/cite_prediction/train.jsonl", [])
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=f"train.jsonl, {reason}"):
        write_citation_triplets(context)
    assert not (context.out / "pretrain/citations.jsonl").exists()


def test_searches(raw, context):
    raw.searches("train", {"one": {"a": 0, "b": 2, "c": 14}, "two": {"a": 0}})
    raw.searches("validation", {"three": {"b": 1}})
    data_set = write_search_lists(context)
    assert (data_set.queries, data_set.targets, data_set.counts["hard negatives"]) == (2, 3, 1)
    assert data_set.dropped.ids == {"nothing clicked": ["two"]}
    examples = list(read_examples(context.out / "pretrain/search.jsonl", query="query", candidate="paper"))
    assert [(e.query, {i.id for i in e.positives}, [i.id for i in e.negatives]) for e in examples] == [
        ("one", {"b", "c"}, ["a"]),
        ("three", {"b"}, []),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"query": "x"}, "expected `query`"),
        ({"query": {"doc_id": 1}, "candidates": []}, "expected `query`"),
        ({"query": "x", "candidates": [paper("a")]}, "the score: None is not a number"),
    ],
)
def test_a_broken_search_is_named(context, row, reason):
    lines(context.raw / "scirepeval/search/train.jsonl", [row])
    with pytest.raises(InputError, match=f"train.jsonl, line 1.*{reason}"):
        write_search_lists(context)

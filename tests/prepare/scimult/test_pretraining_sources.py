"""The five sources of Table A1, counted by hand, and what must hold of any label pairs."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_data import lines, paper
from build_scimult import Raw
from sciprism.errors import InputError
from sciprism.prepare.scimult import label_sources
from sciprism.prepare.scimult.citations import NO_TITLE, citation_triplets
from sciprism.prepare.scimult.desk import Desk, MissingFilesError
from sciprism.prepare.scimult.label_sources import biology_and_medicine, coarse, cs_journal
from sciprism.prepare.scimult.searches import search_lists
from sciprism.training.examples import read_examples


def pairs_of(desk, file):
    examples = read_examples(desk.out / "pretrain" / file, query="paper", candidate="label")
    return {e.query.id: ([i.id for i in e.positives], [i.id for i in e.negatives]) for e in examples}


def test_cs_journal(raw, desk):
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
    made = cs_journal(desk)
    assert (made.name, made.first, made.second) == ("MAPLE CS-Journal", 4, 4)
    assert made.counts == {
        "examples": 4,
        "positive pairs": 4,
        "hard negatives": 3,
        "negatives: author": 2,
        "negatives: citation": 1,
        "negatives: none": 1,
    }
    assert dict(made.tally.ids) == {
        "paper without a label of the space, left out": ["5"],
        "paper that stands twice, the first counts": ["1"],
        "no text": ["6"],
    }
    assert pairs_of(desk, "cs-journal.jsonl") == {
        "1": (["11"], ["12"]),
        "2": (["12"], ["11"]),
        "3": (["11"], ["12"]),
        "4": (["13"], []),
    }
    first = next(read_examples(desk.out / "pretrain/cs-journal.jsonl", query="paper", candidate="label"))
    assert (first.query.title, first.query.abstract) == ("title 1", "about 1")
    assert (first.positives[0].name, first.positives[0].definition) == ("computer vision", "field that sees")
    assert [path.name for path in (desk.out / "pretrain").iterdir()] == ["cs-journal.jsonl"]


def test_a_label_stands_in_100_pairs_at_most(raw, desk):
    raw.topics()
    raw.maple("Computer_Science", [{"paper": str(i), "label": ["11"]} for i in range(101)])
    made = cs_journal(desk)
    assert (made.first, made.second) == (100, 100)
    assert made.tally.count("pair beyond the cap of its label") == 1


def test_two_folders_of_mesh_are_one_source(raw, desk):
    raw.descriptors()
    raw.maple("Biology_MeSH", [{"paper": "1", "label": ["D1"], "venue": "v"}], mesh="D1\tneoplasms\n")
    raw.maple(
        "Medicine_MeSH", [{"paper": "2", "label": ["D3"], "venue": "v"}, {"paper": "1", "label": ["D2"]}]
    )
    made = biology_and_medicine(desk)
    assert (made.first, made.second, made.lacking) == (2, 2, ())
    assert pairs_of(desk, "biology-medicine.jsonl") == {"1": (["D1"], ["D3"]), "2": (["D3"], ["D1"])}


def test_half_of_a_source_is_made_and_told(raw, desk):
    raw.maple("Medicine_MeSH", [{"paper": "2", "label": ["D3"]}], mesh="D3\teye\n")
    made = biology_and_medicine(desk)
    assert made.first == 1
    assert [name.partition(":")[0] for name in made.lacking] == [
        "maple/Biology_MeSH/papers.json",
        "mesh/desc2022.xml",
    ]


def test_coarse(raw, desk, monkeypatch):
    """Two papers a field; 3 stands in both, for Art if it is drawn there; Computer_Science is no field."""
    monkeypatch.setattr(label_sources, "OF_EACH_FIELD", 2)
    raw.maple("Art", [{"paper": i} for i in "123"] + [{"paper": "0", "title": "", "abstract": ""}])
    raw.maple("Political_Science_MAG", [{"paper": i} for i in "345"])
    raw.maple("Computer_Science", [{"paper": "9"}])
    made = coarse(desk)
    assert (made.first, made.second, len(made.lacking)) == (4, 4, 16)
    found = Counter(labels[0] for labels, _ in pairs_of(desk, "coarse.jsonl").values())
    assert found == {"Art": 2, "Political_Science": 2}
    example = list(read_examples(desk.out / "pretrain/coarse.jsonl", query="paper", candidate="label"))[-1]
    assert (example.positives[0].name, example.positives[0].definition) == ("political science", "")


def test_coarse_has_no_cap_and_tells_of_short_fields(raw, desk):
    raw.maple("Art", [{"paper": str(i)} for i in range(120)])
    made = coarse(desk)
    assert (made.first, made.second) == (120, 120)
    assert made.tally.count("field of fewer than 50,000 papers, all of them taken") == 1


@pytest.mark.parametrize("build", [cs_journal, biology_and_medicine, coarse, citation_triplets, search_lists])
def test_nothing_to_make_a_source_of(desk, build):
    with pytest.raises(MissingFilesError):
        build(desk)
    assert not desk.out.exists()


@pytest.mark.parametrize("parquet", [False, True])
def test_citation_triplets(raw, desk, parquet):
    raw.triplets(
        "train", [("a", "b", "c"), ("a", "b", "d"), ("e", "a", "b"), ("a", "x", "y")], parquet=parquet
    )
    raw.triplets("validation", [("f", "b", "c")], parquet=parquet)
    made = citation_triplets(desk)
    assert (made.first, made.second, made.lacking) == (3, 5, ())
    assert made.counts["examples"] == 4, "a comes again"
    examples = list(read_examples(desk.out / "pretrain/citations.jsonl", query="paper", candidate="paper"))
    assert [(e.query.id, [i.id for i in e.positives], [i.id for i in e.negatives]) for e in examples] == [
        ("a", ["b", "b"], ["c", "d"]),
        ("e", ["a"], ["b"]),
        ("a", ["x"], ["y"]),
        ("f", ["b"], ["c"]),
    ]
    assert (examples[0].query.title, examples[0].query.abstract) == ("Title a", "About a.")


def test_triplets_by_sha_and_without_titles(desk):
    path = desk.raw / "scirepeval/cite_prediction/train.jsonl"
    old = {"corpus_id": None, "sha": "aa", "title": "T", "abstract": None}
    lines(
        path,
        [
            {"query": old, "pos": paper("b"), "neg": paper("c")},
            {"query": old, "pos": paper("b", title=""), "neg": paper("c")},
        ],
    )
    made = citation_triplets(desk)
    assert (made.first, made.second) == (1, 1) and made.tally.ids == {NO_TITLE: ["aa b c"]}
    assert made.lacking == ("allenai/scirepeval/cite_prediction, split validation",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"query": {"doc_id": "1"}, "pos": 3}', "line 1, pos: expected a paper as an object, got 3"),
        ('{"query": {"title": "1"}}', "line 1, query: a paper without doc_id, corpus_id, paper_id, sha"),
        ("{", "line 1: not JSON"),
    ],
)
def test_a_broken_triplet_is_named(desk, line, reason):
    path = lines(desk.raw / "scirepeval/cite_prediction/train.jsonl", [])
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=f"train.jsonl, {reason}"):
        citation_triplets(desk)
    assert not (desk.out / "pretrain/citations.jsonl").exists()


def test_searches(raw, desk):
    raw.searches("train", {"one": {"a": 0, "b": 2, "c": 14}, "two": {"a": 0}})
    raw.searches("validation", {"three": {"b": 1}})
    made = search_lists(desk)
    assert (made.first, made.second, made.counts["hard negatives"]) == (2, 3, 1)
    assert made.tally.ids == {"nothing clicked": ["two"]}
    examples = list(read_examples(desk.out / "pretrain/search.jsonl", query="query", candidate="paper"))
    assert [(e.query, {i.id for i in e.positives}, [i.id for i in e.negatives]) for e in examples] == [
        ("one", {"b", "c"}, ["a"]),
        ("three", {"b"}, []),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"query": "x"}, "expected `query`"),
        ({"query": {"doc_id": 1}, "candidates": []}, "expected `query`"),
        ({"query": "x", "candidates": [paper("a")]}, "the score: None is no number"),
    ],
)
def test_a_broken_search_is_named(desk, row, reason):
    lines(desk.raw / "scirepeval/search/train.jsonl", [row])
    with pytest.raises(InputError, match=f"train.jsonl, line 1.*{reason}"):
        search_lists(desk)


ids = st.sampled_from([str(i) for i in range(8)])
made_papers = st.lists(
    st.fixed_dictionaries(
        {
            "paper": ids,
            "label": st.lists(st.sampled_from(["11", "12", "13", "77"]), max_size=3),
            "reference": st.lists(ids, max_size=3),
            "author": st.lists(st.sampled_from("xyz"), max_size=2),
            "venue": st.sampled_from(["", "v", "w"]),
        }
    ),
    max_size=12,
    unique_by=lambda row: row["paper"],
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(papers=made_papers, cap=st.integers(1, 3))
def test_what_holds_of_label_pairs(tmp_path_factory, papers, cap):
    folder = tmp_path_factory.mktemp("any")
    raw, desk = Raw(folder / "raw"), Desk(folder / "raw", folder / "out", 3)
    raw.topics()
    raw.maple("Computer_Science", papers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_sources, "CAP", cap)
        made = cs_journal(desk)
    space = {"11", "12", "13"}
    carried = {row["paper"]: set(row["label"]) & space for row in papers if set(row["label"]) & space}
    by_id = {row["paper"]: row for row in papers}
    found = pairs_of(desk, "cs-journal.jsonl")
    uses = Counter(label for labels, _ in found.values() for label in labels)
    holders = Counter(label for labels in carried.values() for label in labels)
    assert uses == {label: min(cap, count) for label, count in holders.items()}
    assert made.second == sum(uses.values()) and made.first == len(found)
    for name, (positives, negatives) in found.items():
        assert set(positives) <= carried[name] and not set(negatives) & carried[name]
        mine = by_id[name]
        related = [
            other
            for other in carried
            if other != name
            and (
                other in mine["reference"]
                or set(mine["author"]) & set(by_id[other]["author"])
                or (mine["venue"] and mine["venue"] == by_id[other]["venue"])
            )
        ]
        assert set(negatives) <= set().union(*(carried[other] for other in related))

"""Examples of every kind: links, labels, answers, scored lists, pairs of words and papers."""

from collections import Counter

import pytest

from sciprism.errors import InputError
from sciprism.papers import Label, Paper
from sciprism.prepare.samplers import examples as module
from sciprism.prepare.samplers.examples import (
    BEYOND_LABEL_LIMIT,
    CITED_BY_CITED,
    CO_AUTHOR,
    NOT_CLICKED,
    SCORE_ZERO,
    ScoredList,
    most_frequent,
    pair_texts,
    sample_citation_triplets,
    sample_clicks,
    sample_label_pairs,
    sample_same_author,
    sample_scored_triplets,
)
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT, NONE, RANDOM, SampleReport, Sampling


def paper(name, **more):
    return Paper(id=name, title=f"Title of {name}", **more)


def build_papers(names):
    return [paper(name) for name in names]


def ids(items):
    return [item.id for item in items]


# ---- citation and same-author triplets ----


def test_hard_negatives_are_cited_by_cited_papers_and_not_linked(monkeypatch):
    monkeypatch.setattr(module, "HARD_SHARE", 1.0)
    # q cites a and b; a cites b (cited), h (hard), c (which cites q), and q; x has no link
    edges = [("q", "gone"), *map(tuple, ("qa", "qb", "ab", "ah", "ac", "cq", "aq", "qq"))]
    report = SampleReport()
    sampling = Sampling(report=report)
    (found,) = sample_citation_triplets(build_papers("qabchx"), edges, sampling, queries=["q"])
    assert found.query.id == "q" and sorted(ids(found.positives)) == ["a", "b"]
    assert sorted(ids(found.negatives)) == ["h", "x"]  # one is hard; x is random
    assert report.queries == 1 and report.pairs == 2 and report.hard == 1
    assert report.negatives == {CITED_BY_CITED: 1, RANDOM: 1}
    assert report.dropped.ids == {
        "citation of or by an unknown paper": ["q -> gone"],
        "self-citation": ["q"],
        "two papers that cite each other (retained)": ["q -> a"],
    }


def test_without_two_steps_the_negatives_are_random_and_without_strangers_there_is_none(monkeypatch):
    monkeypatch.setattr(module, "HARD_SHARE", 1.0)
    report = SampleReport()
    found = list(sample_citation_triplets(build_papers("abc"), [("a", "b")], Sampling(report=report)))
    assert [(e.query.id, ids(e.positives), ids(e.negatives)) for e in found] == [("a", ["b"], ["c"])]
    assert report.negatives == {RANDOM: 1} and report.dropped.ids["no link to another paper"] == ["b", "c"]
    report = SampleReport()
    (found,) = sample_citation_triplets(build_papers("ab"), [("a", "b")], Sampling(report=report))
    assert found.negatives == () and report.negatives == {NONE: 1}


def test_max_queries_selects_by_a_hash_of_seed_and_id():
    edges = [(f"p{i}", "hub") for i in range(100)]
    papers = build_papers(["hub", *(f"p{i}" for i in range(100))])
    report = SampleReport()
    some = ids(e.query for e in sample_citation_triplets(papers, edges, Sampling(limit=10, report=report)))
    assert len(some) == 10 and report.dropped.count(BEYOND_LIMIT) == 90
    assert some == ids(e.query for e in sample_citation_triplets(papers, edges, Sampling(limit=10)))
    backwards = ids(e.query for e in sample_citation_triplets(papers[::-1], edges, Sampling(limit=10)))
    assert sorted(some) == sorted(backwards)
    assert some != ids(e.query for e in sample_citation_triplets(papers, edges, Sampling(limit=10, seed=1)))


def test_two_papers_of_one_id_are_refused():
    with pytest.raises(InputError, match="two papers have the id 'a'"):
        list(sample_citation_triplets(build_papers("aba"), [("a", "b")], Sampling()))
    with pytest.raises(InputError, match="two papers have the id 'a'"):
        list(sample_same_author(build_papers("aba"), [["1"], ["1"], ["1"]], Sampling()))


def test_same_author_by_identifiers_and_hard_ones_by_co_authors():
    # Ann wrote a and b, b with Bo; Bo wrote c too; d is by others; e by nobody known
    authors = [["ann"], ["ann", "bo"], ["bo"], ["cy"], ["", ""]]
    hard = set()
    for seed in range(12):
        sampling = Sampling(seed=seed)
        (found,) = sample_same_author(build_papers("abcde"), authors, sampling, queries=["a"])
        assert (found.query.id, ids(found.positives)) == ("a", ["b"])
        hard |= {*ids(found.negatives)} if sampling.report.negatives[CO_AUTHOR] else set()
    assert hard == {"c"}
    every = list(sample_same_author(build_papers("abcde"), authors, Sampling()))
    assert ids(e.query for e in every) == ["a", "b", "c"]
    assert {*ids(every[1].positives)} == {"a", "c"} and {*ids(every[1].negatives)} == {"d", "e"}


# ---- paper and label pairs ----

LABELS = [Label(id=f"l{i}", name=f"label {i}") for i in range(6)]


def rows(items):
    return sorted(LABELS.index(item) for item in items)


@pytest.mark.parametrize(
    ("kind", "own", "other"),
    [
        ("citation", {"references": ("b", "gone")}, {}),
        ("author", {"authors": ("Ann", "Bo")}, {"authors": ("Bo",)}),
        ("venue", {"venue": "CG&A"}, {"venue": "CG&A"}),
        (NONE, {"venue": "", "authors": ("Ann",)}, {"venue": "", "references": ("a",)}),
    ],
)
def test_each_relation_gives_a_label_that_the_paper_does_not_have(kind, own, other):
    """A paper that cites the query gives no label (SciMult, 3.4: "p cites")."""
    report = SampleReport()
    papers = [paper("a", **own), paper("b", **other), paper("c")]
    found = list(sample_label_pairs(papers, LABELS, [[0, 1], [1, 2], [3]], Sampling(report=report)))
    assert [rows(e.positives) for e in found] == [[0, 1], [1, 2], [3]]
    assert rows(found[0].negatives) == ([] if kind == NONE else [2])
    assert report.pairs == 5 and report.negatives[kind] >= 1
    assert report.negatives.total() == report.pairs


def test_no_label_in_more_pairs_than_its_maximum_and_the_rest_is_counted():
    papers = [paper(f"p{i}") for i in range(50)]
    labels_of = [[0, 1] if i < 10 else [0] for i in range(50)]
    report = SampleReport()
    more = [*papers, paper("bare")], LABELS, [*labels_of, []]
    found = list(sample_label_pairs(*more, Sampling(report=report), max_per_label=20))
    counts = Counter(label.id for e in found for label in e.positives)
    assert counts == {"l0": 20, "l1": 10} and report.pairs == 30
    assert report.dropped.count(BEYOND_LABEL_LIMIT) == 30 and report.dropped.ids["no label"] == ["bare"]
    again = list(sample_label_pairs(papers[::-1], LABELS, labels_of[::-1], Sampling(), max_per_label=20))
    assert {e.query.id for e in again} == {e.query.id for e in found}  # whatever the order of the papers
    other = sample_label_pairs(papers, LABELS, labels_of, Sampling(seed=1), max_per_label=20)
    assert {e.query.id for e in other} != {e.query.id for e in found}


def test_a_label_beyond_its_maximum_is_no_negative_of_its_paper():
    papers = [paper(f"p{i}", venue="V") for i in range(8)]
    for example in sample_label_pairs(papers, LABELS, [[0, 1, 2]] * 8, Sampling(), max_per_label=1):
        assert not example.negatives


def test_the_most_frequent_names():
    assert most_frequent(["b", "a", "a", "c", "", ""]) == ("a", "b", "c")
    assert len(most_frequent(map(str, range(50)))) == 30


# ---- triplets from scored lists ----


def pairs(scores, names="abcdefghijklm", **more):
    shown = ScoredList("q", build_papers(names[: len(scores)]), scores)
    found = sample_scored_triplets([shown], Sampling(), **more)
    return ["".join(each.id for each in (*e.positives, *e.negatives)) for e in found]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1, 0], ["ab"]),
        ([0, 0, 1, 0, 3], ["cd", "eb", "ca"]),  # in file order, negatives from the end, m = 3
        ([0, 0, 0, 0, 0, 0, 0, 2], ["hg", "hf", "he", "hd", "hc"]),  # one positive serves five times
        ([1, 1, 1, 1, 1, 1, 1, 0, 0], ["ai", "bh"]),  # as many as there are negatives
        ([0, 1, 0, -1, 0, 2, 0, 0, 0], ["bi", "dh", "fg", "be", "dc"]),  # not zero is positive, then again
        ([1, 2], []),
        ([0, 0], []),
        ([], []),
    ],
)
def test_pairs_of_the_published_rule(scores, expected):
    assert pairs(scores) == expected


def test_what_is_dropped_is_counted():
    report = SampleReport()
    lists = [
        ScoredList(Paper(id="p", title="Ants"), [*build_papers("ab"), Paper(id="bare")], [1, 0, 0]),
        ScoredList(" ", build_papers("ab"), [1, 0]),
        ScoredList("liked", build_papers("a"), [1]),
        ScoredList("not liked", build_papers("a"), [0]),
    ]
    (found,) = sample_scored_triplets(lists, Sampling(report=report))
    assert found.query.id == "p" and report.queries == report.pairs == 1 and report.negatives == {SCORE_ZERO: 1}
    assert report.dropped.ids == {
        "no text": ["bare"],
        "query without words": [" "],
        "no candidate with score 0": ["liked"],
        "no candidate with a score": ["not liked"],
    }


# ---- pairs of words and papers ----


def test_clicked_papers_are_positives_best_first_and_the_others_negatives():
    report = SampleReport()
    lists = [
        ScoredList("dark matter", build_papers("abcd"), [1, 0, 14, 0.0]),
        ScoredList("ants", build_papers("ab"), [0, 0]),
        ScoredList("  ", build_papers("x"), [1]),
        ScoredList("all liked", build_papers("ab"), [2, 1]),
        ScoredList("one twice", [*build_papers("ab"), *build_papers("a"), Paper(id="empty")], [0, 0, 3, 1]),
    ]
    found = list(sample_clicks(lists, Sampling(report=report)))
    assert [(e.query, ids(e.positives), sorted(ids(e.negatives))) for e in found] == [
        ("dark matter", ["c", "a"], ["b", "d"]),
        ("all liked", ["a", "b"], []),
        ("one twice", ["a"], ["b"]),
    ]
    assert report.negatives == {NOT_CLICKED: 3, NONE: 2} and report.pairs == 5
    assert report.dropped.ids == {"nothing clicked": ["ants"], "query without words": ["x"], "no text": ["empty"]}


def test_negatives_of_a_long_list_are_sampled():
    shown = ScoredList("q", build_papers("abcdefghij"), [1, *[0] * 9])
    (found,) = sample_clicks([shown], Sampling(), negatives=3)
    assert len({*ids(found.negatives)}) == 3
    assert found == next(sample_clicks([shown], Sampling(), negatives=3))
    assert len(next(sample_clicks([shown], Sampling(), negatives=0)).negatives) == 9


def test_texts_and_papers_without_words_are_counted():
    papers = [Paper(id="a", abstract="Water that is cold."), Paper(id="b", abstract="No title."), Paper(id="c")]
    report = SampleReport()
    (found,) = pair_texts(zip(("Ice", " ", "Fire"), papers, strict=True), Sampling(report=report))
    assert (found.query, found.positives, found.negatives) == ("Ice", (papers[0],), ())
    assert report.dropped.ids == {"query without words": ["b"], "no text": ["c"]}
    assert report.queries == report.pairs == 1 and report.negatives == {NONE: 1} and report.hard == 0

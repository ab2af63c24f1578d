"""Citation and same-author triplets: on graphs small enough to see, and what holds on every graph."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers import Paper
from sciprism.prepare.samplers.examples import CITED_BY_CITED, CO_AUTHOR, sample_citation_triplets, sample_same_author
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT, NONE, RANDOM, SampleReport, Sampling


def build_papers(names, **more):
    return [Paper(id=name, title=f"Title of {name}", **more) for name in names]


def ids(items):
    return [item.id for item in items]


def test_hard_negatives_are_cited_by_cited_papers_and_not_linked():
    # q cites a and b; a cites b (cited), h (hard), c (which cites q), and q; x has no link
    edges = [
        ("q", "a"), ("q", "b"), ("a", "b"), ("a", "h"), ("a", "c"), ("c", "q"), ("a", "q"), ("q", "q"),
        ("q", "gone"),
    ]  # fmt: skip
    report = SampleReport()
    sampling = Sampling(report=report)
    (found,) = sample_citation_triplets(build_papers("qabchx"), edges, sampling, queries=["q"], hard_share=1.0)
    assert found.query.id == "q" and sorted(ids(found.positives)) == ["a", "b"]
    assert sorted(ids(found.negatives)) == ["h", "x"]  # one is hard; x is random
    assert report.queries == 1 and report.pairs == 2 and report.hard == 1
    assert report.negatives == {CITED_BY_CITED: 1, RANDOM: 1}
    assert report.dropped.ids == {
        "citation of or by an unknown paper": ["q -> gone"],
        "self-citation": ["q"],
        "two papers that cite each other (retained)": ["q -> a"],
    }


def test_without_two_steps_the_negatives_are_random_and_without_strangers_there_is_none():
    report = SampleReport()
    found = list(sample_citation_triplets(build_papers("abc"), [("a", "b")], Sampling(report=report), hard_share=1.0))
    assert [(e.query.id, ids(e.positives), ids(e.negatives)) for e in found] == [("a", ["b"], ["c"])]
    assert report.negatives == {RANDOM: 1} and report.dropped.ids["no link to another paper"] == ["b", "c"]
    report = SampleReport()
    (found,) = sample_citation_triplets(build_papers("ab"), [("a", "b")], Sampling(report=report))
    assert found.negatives == () and report.negatives == {NONE: 1}


def test_a_paper_without_text_takes_no_part():
    papers = [*build_papers("ac"), Paper(id="b")]
    report = SampleReport()
    assert not list(sample_citation_triplets(papers, [("a", "b")], Sampling(report=report)))
    assert report.dropped.ids["no text"] == ["b"]


GRAPHS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


@given(edges=GRAPHS, share=st.floats(0, 1), seed=st.integers(0, 5))
def test_on_every_graph_positives_are_cited_and_negatives_are_not_linked(edges, share, seed):
    names = [f"p{i}" for i in range(10)]
    links = {(f"p{a}", f"p{b}") for a, b in edges if a != b}
    named = [(f"p{a}", f"p{b}") for a, b in edges]
    found = list(sample_citation_triplets(build_papers(names), named, Sampling(seed=seed), hard_share=share))
    assert ids(e.query for e in found) == [n for n in names if any(a == n for a, _ in links)]
    for example in found:
        query, right, wrong = example.query.id, ids(example.positives), ids(example.negatives)
        cited = {b for a, b in links if a == query}
        linked = cited | {a for a, b in links if b == query} | {query}
        assert {*right} <= cited and len(right) == len({*right}) == min(5, len(cited))
        assert not linked & {*wrong} and len(wrong) == len({*wrong})
        assert len(wrong) == min(len(right), len(names) - len(linked))


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


@given(attributes=st.lists(st.sets(st.sampled_from("uvwxyz"), max_size=3), min_size=1, max_size=10))
def test_no_author_wrote_a_negative(attributes):
    papers = build_papers([f"p{i}" for i in range(len(attributes))])
    by = {paper.id: each for paper, each in zip(papers, attributes, strict=True)}
    for example in sample_same_author(papers, attributes, Sampling()):
        own = by[example.query.id]
        assert all(by[paper.id] & own for paper in example.positives)
        assert not any(by[paper.id] & own for paper in example.negatives)
        assert example.query not in (*example.positives, *example.negatives)

"""Pools worked out by hand, in the authors' construction and in the corrected one."""

import pytest

from sciprism.errors import InputError
from sciprism.prepare.multi_scidocs.pools import BEYOND, NO_NEGATIVE, UNABLE, Choices

ALL = {"val": 0.0, "test": 1.0}
EVERYBODY = {*"qabcdzuv", "x1", "x2", "x3", "x4"}


def as_sets(pool):
    positives, negatives = pool
    assert len({*positives, *negatives}) == len(positives) + len(negatives), "a paper stands twice"
    return {*positives}, {*negatives}


def test_the_published_pool_of_co_citations_is_the_top_of_the_highest_count(starred):
    """The highest count is 3, so the pool is the first 3 papers: d is a negative though it is co-cited."""
    pools = starred.prepare(construction="published", **ALL).pools("cocite")
    assert {*pools} == {"q"}, "a, b, c and d cite nothing, and are no queries"
    positives, negatives = as_sets(pools["q"])
    assert positives == {*"abc"} and negatives == EVERYBODY - {*"qabc"}


def test_the_corrected_pool_holds_all_co_cited_papers_by_their_counts(starred):
    pools = starred.prepare(**ALL).pools("cocite")
    assert {*pools} == {*"qabcd"}
    positives, negatives = pools["q"]
    assert positives[:2] == ["a", "b"] and {*positives[2:]} == {*"cd"}
    assert {*negatives} == {"u", "v"}, "neither co-cited, nor cited (z), nor citing (x1 ... x4)"
    assert as_sets(pools["d"]) == ({"q"}, EVERYBODY - {*"dq", "x4"})


def test_negatives_of_the_querys_own_fields(made):
    """a and b are of art, c and d of law, e of both, f of music: each sees those that share a field."""
    for number, name in enumerate("abcdef"):
        fields = (["Art"], ["Art"], ["Law"], ["Law"], ["Art", "Law"], ["Music"])[number]
        made.paper(name, f"z{name}", fields=fields)
        made.paper(f"z{name}", fields=["Physics"])
    pools = made.prepare(within_fields=True, **ALL).pools("cite")
    found = {name: {*negatives} for name, (_, negatives) in pools.items()}
    assert found == {"a": {*"be"}, "b": {*"ae"}, "c": {*"de"}, "d": {*"ce"}, "e": {*"abcd"}}
    assert all(positives == [f"z{name}"] for name, (positives, _) in pools.items())
    assert made.prepared.of_queries.ids[f"cite/test: {NO_NEGATIVE}"] == ["f"]


def test_counts_go_before_chance_and_chance_parts_ties(starred):
    found = set()
    for seed in range(12):
        positives, _ = starred.prepare(positives=3, seed=seed, **ALL).pools("cocite")["q"]
        assert positives[:2] == ["a", "b"]
        found.add(positives[2])
    assert found == {*"cd"}


def test_citations_in_both_constructions(starred):
    pools = starred.prepare(construction="published", **ALL).pools("cite")
    assert {*pools} == {"q", "x1", "x2", "x3", "x4"}
    assert as_sets(pools["q"]) == ({"z"}, EVERYBODY - {*"qz"}), "co-cited and citing papers may be negatives"
    assert as_sets(pools["x3"]) == ({*"qa"}, EVERYBODY - {*"qa", "x3"})
    pools = starred.prepare(**ALL).pools("cite")
    assert as_sets(pools["q"]) == ({"z"}, {*"uv"})
    assert as_sets(pools["x4"]) == ({*"qd"}, EVERYBODY - {*"qd", "x4"})


def test_one_co_citation_each_gives_one_positive_as_published(made):
    """`most_common(1)` is one paper, however many stand with the query in a list once."""
    made.paper("q", "z")
    for name in "abcz":
        made.paper(name)
    made.paper("x", *"qabc")
    positives, negatives = made.prepare(construction="published", **ALL).pools("cocite")["q"]
    assert positives == ["a"] and {*negatives} == {*"bczx"}
    positives, _ = made.prepare(**ALL, construction="published", seed=5).pools("cocite")["q"]
    assert positives == ["a"], "of equal counts the first one, whatever the seed"
    made.paper("u")
    positives, negatives = made.prepare(**ALL).pools("cocite")["q"]
    assert {*positives} == {*"abc"} and negatives == ["u"]


def test_published_positives_are_drawn_from_a_longer_pool(made):
    """8 papers cited with q by 7 others: the pool is the first 7, of which 5 are drawn."""
    names = [f"c{n}" for n in range(8)]
    made.paper("q", "z")
    for name in (*names, "z"):
        made.paper(name)
    for n in range(7):
        made.paper(f"x{n}", "q", *names)
    found = set()
    for seed in range(8):
        positives, negatives = made.prepare(construction="published", seed=seed, **ALL).pools("cocite")["q"]
        assert len(positives) == 5 and {*positives} <= {*names[:7]} and "c7" in negatives
        assert not {*names[:7]} & {*negatives}, "the pool is no negative, drawn or not"
        found.update(positives)
    assert found == {*names[:7]}


def test_sizes_of_pools_are_options_and_what_is_short_is_told(starred):
    starred.prepare(positives=1, negatives=4, **ALL)
    counted = starred.count("cite/test")
    positives, negatives = starred.pools("cite")["x1"]
    assert len(positives) == 1 and {*positives} <= {*"qabc"} and len(negatives) == 4
    assert (len(counted.rows), counted.positives) == (5, 5)
    assert (counted.negatives, counted.short, counted.least) == (4 * 4 + 2, 1, 2), "q has u and v alone"


def test_a_query_without_negatives_goes(made):
    """q is linked to all there are; then comes y, which no citation makes a query."""
    made.paper("q", "a")
    made.paper("a")
    with pytest.raises(InputError, match="no query and no class is left"):
        made.prepare(**ALL)
    dropped = made.json("multi-scidocs.json")["dropped"]["queries"]
    assert dropped[f"cite/test: {NO_NEGATIVE}"] == {"count": 1, "first": ["q"]}
    assert not (made.out / "multi-scidocs/cite/test.qrel").exists()
    made.paper("y")
    assert made.prepare(**ALL).pools("cite") == {"q": (["a"], ["y"])}
    assert made.prepared.written.left_out.keys() == {"cocite/test", "mag"}


def test_queries_that_lack_a_relation_are_counted(starred):
    dropped = starred.prepare(**ALL).prepared.of_queries
    assert {*dropped.ids[f"cite/test: {UNABLE['cite']}"]} == {*"abcd"}
    assert {*dropped.ids[f"cocite/test: {UNABLE['cocite']}"]} == {"x1", "x2", "x3", "x4"}


def test_queries_of_a_field_are_at_most_as_many_as_asked_for(made):
    for n in range(30):
        made.paper(f"p{n}", f"p{(n + 1) % 30}", fields=["Art"] if n < 20 else ["History"])
    made.prepare(most=4, **ALL)
    assert made.count("cite/test").fields == {"Art": 4, "History": 4}
    assert made.prepared.of_queries.count(f"cite/test: {BEYOND}") == 22
    assert sum(made.prepare(construction="published", **ALL).count("cite/test").fields.values()) == 30


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"construction": "mended"}, "unknown construction 'mended'; known: corrected, published"),
        ({"negatives": 0}, "0 negatives; at least 1"),
        ({"positives": 0}, "0 positives"),
        ({"val": 0.7, "test": 0.5}, "shares of 0.7 for val and 0.5 for test"),
        ({"most": -1}, "most -1"),
    ],
)
def test_wrong_choices(wrong, said):
    with pytest.raises(InputError, match=said):
        Choices(**wrong)

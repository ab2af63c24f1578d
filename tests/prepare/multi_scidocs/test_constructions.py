"""Pools worked out by hand, in the authors' construction and in the corrected one."""

import pytest

from sciprism.errors import InputError
from sciprism.prepare.multi_scidocs import NO_NEGATIVE
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT

ALL = {"val": 0.0, "test": 1.0}
EVERYBODY = {*"qabcdzuv", "x1", "x2", "x3", "x4"}


def as_sets(pool):
    positives, negatives = pool
    assert len({*positives, *negatives}) == len(positives) + len(negatives), "a paper is there twice"
    return {*positives}, {*negatives}


def test_the_published_pool_of_co_citations_is_the_top_of_the_highest_count(starred):
    """The highest count is 3, so the pool is the first 3 papers: d is a negative though it is co-cited."""
    starred.paper("w", "x1", "x2", "x3", "x4")  # co-citations count where the citing paper is cited itself
    pools = starred.prepare(construction="published", **ALL).pools("cocite")
    assert {*pools} == {"q"}, "a, b, c and d cite nothing, and w is not cited"
    positives, negatives = as_sets(pools["q"])
    assert positives == {*"abc"} and negatives == EVERYBODY - {*"qabcuv"} | {"w"}, "u and v are linked to no query"


def test_the_corrected_pool_holds_all_co_cited_papers_by_their_counts(starred):
    pools = starred.prepare(**ALL).pools("cocite")
    assert {*pools} == {*"qabcd"}
    positives, negatives = pools["q"]
    assert positives[:2] == ["a", "b"] and {*positives[2:]} == {*"cd"}
    assert {*negatives} == {"u", "v"}, "neither co-cited, nor cited (z), nor citing (x1 ... x4)"
    assert as_sets(pools["d"]) == ({"q"}, EVERYBODY - {*"dq", "x4"})


def test_negatives_of_the_querys_own_fields(benchmark):
    """a and b are of art, c and d of law, e of both, f of music: each sees those that share a field."""
    for number, name in enumerate("abcdef"):
        fields = (["Art"], ["Art"], ["Law"], ["Law"], ["Art", "Law"], ["Music"])[number]
        benchmark.paper(name, f"z{name}", fields=fields)
        benchmark.paper(f"z{name}", fields=["Physics"])
    pools = benchmark.prepare(within_fields=True, **ALL).pools("cite")
    found = {name: {*negatives} for name, (_, negatives) in pools.items()}
    assert found == {"a": {*"be"}, "b": {*"ae"}, "c": {*"de"}, "d": {*"ce"}, "e": {*"abcd"}}
    assert all(positives == [f"z{name}"] for name, (positives, _) in pools.items())
    assert benchmark.prepared.dropped["queries and classes"].ids[f"cite/test: {NO_NEGATIVE}"] == ["f"]


def test_citations_in_both_constructions(starred):
    pools = starred.prepare(construction="published", **ALL).pools("cite")
    assert {*pools} == {"q", "x1", "x2", "x3", "x4"}
    assert as_sets(pools["q"]) == ({"z"}, EVERYBODY - {*"qzuv"}), "co-cited and citing papers may be negatives"
    assert as_sets(pools["x3"]) == ({*"qa"}, EVERYBODY - {*"qauv", "x3"})
    pools = starred.prepare(**ALL).pools("cite")
    assert as_sets(pools["q"]) == ({"z"}, {*"uv"})
    assert as_sets(pools["x4"]) == ({*"qd"}, EVERYBODY - {*"qd", "x4"})


def test_published_positives_are_sampled_from_a_longer_pool(benchmark):
    """8 papers cited with q by 7 others: the pool is the first 7, of which 5 are sampled."""
    names = [f"c{n}" for n in range(8)]
    benchmark.paper("q", "z")
    for name in (*names, "z"):
        benchmark.paper(name)
    for n in range(7):
        benchmark.paper(f"x{n}", "q", *names)
    benchmark.paper("w", *(f"x{n}" for n in range(7)))
    found = set()
    for seed in range(8):
        positives, negatives = benchmark.prepare(construction="published", seed=seed, **ALL).pools("cocite")["q"]
        assert len(positives) == 5 and {*positives} <= {*names[:7]} and "c7" in negatives
        assert not {*names[:7]} & {*negatives}, "the pool is no negative, sampled or not"
        found.update(positives)
    assert found == {*names[:7]}


def test_sizes_of_pools_are_options_and_short_pools_are_counted(starred):
    starred.prepare(positives=1, negatives=4, **ALL)
    counted = starred.count("cite/test")
    positives, negatives = starred.pools("cite")["x1"]
    assert len(positives) == 1 and {*positives} <= {*"qabc"} and len(negatives) == 4
    assert (counted["unique"], counted["positives"], counted["negatives"]) == (5, 5, 4 * 4 + 2)
    assert counted["short of negatives"] == 1, "q has u and v alone"


def test_a_query_without_negatives_goes(benchmark):
    """q is linked to all there are; then comes y, which no citation makes a query."""
    benchmark.paper("q", "a")
    benchmark.paper("a")
    with pytest.raises(InputError, match="no query and no class is left"):
        benchmark.prepare(**ALL)
    dropped = benchmark.json("multi-scidocs.json")["dropped"]["queries"]
    assert dropped[f"cite/test: {NO_NEGATIVE}"] == {"count": 1, "first": ["q"]}
    assert not (benchmark.out / "multi-scidocs/cite/test.qrel").exists()
    benchmark.paper("y")
    assert benchmark.prepare(**ALL).pools("cite") == {"q": (["a"], ["y"])}
    assert benchmark.prepared.not_made.keys() == {"cocite/test", "mag"}


def test_the_queries_of_a_field_have_a_maximum(benchmark):
    for n in range(30):
        benchmark.paper(f"p{n}", f"p{(n + 1) % 30}", fields=["Art"] if n < 20 else ["History"])
    benchmark.prepare(max_queries=4, **ALL)
    assert benchmark.count("cite/test")["fields"] == {"Art": 4, "History": 4}
    assert benchmark.prepared.dropped["queries and classes"].count(f"cite/test: {BEYOND_LIMIT}") == 22
    assert sum(benchmark.prepare(construction="published", **ALL).count("cite/test")["fields"].values()) == 30

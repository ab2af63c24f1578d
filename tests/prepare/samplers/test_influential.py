"""Influential citations: on a graph small enough to count by hand."""

import pytest

from sciprism.papers import Paper
from sciprism.prepare.samplers.examples import NO_CITATION, sample_influential_citations
from sciprism.prepare.samplers.sampling import SampleReport, Sampling


def build_papers(names):
    return [Paper(id=name, title=f"Title of {name}") for name in names]


# x is mentioned 4 times by a, 5 by b (in two lines), 3 by c, once by d; a mentions y 3 times and x 4 times
MENTIONS = [
    ("a", "x", 4), ("b", "x", 3), ("c", "x", 3), ("d", "x", 1), ("b", "x", 2), ("a", "y", 3),
    ("x", "x", 9), ("e", "x", 0), ("a", "gone", 5),
]  # fmt: skip


def test_four_mentions_or_more_against_fewer():
    report = SampleReport()
    found = list(sample_influential_citations(build_papers("abcdexy"), MENTIONS, Sampling(report=report)))
    assert {e.query.id for e in found} == {"x"} and len(found) == 2
    assert {e.positives[0].id for e in found} == {"a", "b"}  # each positive once, before any comes again
    assert {e.negatives[0].id for e in found} == {"c", "d"}
    assert (report.queries, report.pairs) == (1, 2)
    assert report.dropped.ids == {
        "citation of or by an unknown paper": ["a -> gone"],
        NO_CITATION: ["a", "b", "c", "d", "e"],
        "no candidate with a score": ["y"],
    }


@pytest.mark.parametrize("count", [1, 2, 0])
def test_queries_are_selected_by_hash_and_lists_too(count):
    papers = build_papers([f"p{n}" for n in range(40)])
    mentions = [(f"p{a}", f"p{b}", 1 + (a * b) % 7) for a in range(40) for b in range(10)]
    report = SampleReport()
    found = list(sample_influential_citations(papers, mentions, Sampling(limit=count, seed=3, report=report)))
    again = list(sample_influential_citations(papers, reversed(mentions), Sampling(limit=count, seed=3)))
    assert found == again and len({e.query.id for e in found}) == report.queries <= (count or 40)
    counts = {(a, b): times for a, b, times in mentions}
    for e in found:
        assert counts[e.positives[0].id, e.query.id] >= 4 > counts[e.negatives[0].id, e.query.id]
    asked = list(sample_influential_citations(papers, mentions, Sampling(seed=3), queries=["p5"]))
    assert {e.query.id for e in asked} == {"p5"}

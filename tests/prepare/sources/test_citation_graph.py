"""Citations in arrays, against sets."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sciprism.drop_report import DropReport
from sciprism.prepare.sources.citation_corpus import (
    DUPLICATE_CITATION,
    MUTUAL_CITATION,
    SELF_CITATION,
    UNKNOWN_PAPER,
    CitationGraph,
)

NAMES = "abcdefgh"


@given(st.lists(st.tuples(st.sampled_from(NAMES + "z"), st.sampled_from(NAMES + "z")), max_size=60))
def test_the_graph_is_that_of_sets(edges):
    dropped = DropReport()
    graph = CitationGraph.from_edges(NAMES, iter(edges), dropped)
    inside = [(one, other) for one, other in edges if "z" not in (one, other)]
    known = {(NAMES.index(one), NAMES.index(other)) for one, other in inside if one != other}
    for row in range(len(NAMES)):
        cited = {other for one, other in known if one == row}
        citing = {one for one, other in known if other == row}
        assert graph.targets(row) == sorted(cited) and graph.citing[row].tolist() == sorted(citing)
        assert graph.linked(row) == {row} | cited | citing
        assert graph.two_steps_away(row) == {other for one, other in known if one in cited}
        sampled = graph.sample_one(Random(0), row)
        assert sampled in cited if cited else sampled is None
    assert {*zip(*(rows.tolist() for rows in graph.edges), strict=True)} == known
    loops = sum(one == other for one, other in inside)
    assert dropped.count(UNKNOWN_PAPER) == len(edges) - len(inside) and dropped.count(SELF_CITATION) == loops
    assert dropped.count(DUPLICATE_CITATION) == len(inside) - loops - len(known)
    assert dropped.count(MUTUAL_CITATION) == len({e for e in known if e[::-1] in known}) // 2


def test_a_graph_without_citations_and_one_without_papers():
    assert CitationGraph.from_edges(["a"], [], DropReport()).targets(0) == []
    empty = CitationGraph.from_edges([], [("a", "b")], DropReport())
    assert empty.size == 0

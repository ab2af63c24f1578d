"""Citations in arrays, against sets."""

import pickle
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import AGAIN, EACH_OTHER, NOT_THERE, OF_ITSELF, CitationGraph

NAMES = "abcdefgh"


@given(st.lists(st.tuples(st.sampled_from(NAMES + "z"), st.sampled_from(NAMES + "z")), max_size=60))
def test_the_graph_is_that_of_sets(edges):
    dropped = DropReport()
    graph = CitationGraph.of(NAMES, iter(edges), dropped)
    inside = [(one, other) for one, other in edges if "z" not in (one, other)]
    known = {(NAMES.index(one), NAMES.index(other)) for one, other in inside if one != other}
    for row in range(len(NAMES)):
        cited = {other for one, other in known if one == row}
        citing = {one for one, other in known if other == row}
        assert graph.answers(row) == sorted(cited) and graph.citing[row].tolist() == sorted(citing)
        assert graph.linked(row) == {row} | cited | citing
        assert graph.near(row) == {other for one, other in known if one in cited}
        drawn = graph.one(Random(0), row)
        assert drawn in cited if cited else drawn is None
    assert {*zip(*(rows.tolist() for rows in graph.edges), strict=True)} == known
    reached = {row: {row} for row in range(len(NAMES))}
    for _ in NAMES:
        for one, other in known:
            reached[one] |= reached[other]
    circles = {a for a in reached if any(a in reached[b] for b in reached[a] - {a})}
    between = [a for a in reached if reached[a] & circles and any(a in reached[b] for b in circles)]
    assert graph.in_circles.tolist() == between
    loops = sum(one == other for one, other in inside)
    assert dropped.count(NOT_THERE) == len(edges) - len(inside) and dropped.count(OF_ITSELF) == loops
    assert dropped.count(AGAIN) == len(inside) - loops - len(known)
    assert dropped.count(EACH_OTHER) == len({e for e in known if e[::-1] in known}) // 2


def test_two_papers_of_one_name_are_refused():
    with pytest.raises(InputError, match="two papers have the id 'a'"):
        CitationGraph.of(["a", "b", "a"], [], DropReport())


def test_a_graph_without_citations_and_one_without_papers():
    assert CitationGraph.of(["a"], [], DropReport()).answers(0) == []
    empty = CitationGraph.of([], [("a", "b")], DropReport())
    assert empty.size == 0 and not len(empty.in_circles)


def test_a_graph_reaches_another_process_as_it_is():
    graph = CitationGraph.of(NAMES, [("a", "b"), ("c", "b")], DropReport())
    assert pickle.loads(pickle.dumps(graph)).citing[1].tolist() == [0, 2]

"""Triplets from scored lists, against pairs worked by hand from the published rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.papers import Paper
from sciprism.prepare.samplers.examples import SCORE_ZERO, ScoredList, sample_scored_triplets
from sciprism.prepare.samplers.sampling import SampleReport, Sampling


def build_papers(names):
    return [Paper(id=name, title=f"Title of {name}") for name in names]


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


@given(st.lists(st.sampled_from([0, 0, 0, 1, 4]), max_size=13))
def test_what_holds_for_every_list(scores):
    found = pairs(scores)
    names = "abcdefghijklm"
    zeros = [name for name, score in zip(names, scores, strict=False) if not score]
    others = [name for name, score in zip(names, scores, strict=False) if score]
    assert len(found) == (min(5, len(zeros)) if others else 0)
    assert [pair[1] for pair in found] == zeros[::-1][: len(found)]
    uses = [sum(pair[0] == name for pair in found) for name in others]
    assert uses == sorted(uses, reverse=True) and max(uses, default=0) - min(uses, default=0) <= 1


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

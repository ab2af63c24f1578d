"""SPECTER's triplets: the published rule on graphs small enough to see, and without its gap."""

import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.samplers.drawing import NONE, RANDOM, Draw, Sampled
from sciprism.prepare.samplers.specter import (
    UNTIED,
    WEAKER,
    CitationTies,
    GivenTies,
    SpecterTriplets,
    draws,
)

NAMES = [f"p{row}" for row in range(40)]


def sampler(ties, **more):
    return SpecterTriplets(names=NAMES, ties=ties, **more)


def of_edges(*edges):
    return CitationGraph.of(NAMES, [(f"p{a}", f"p{b}") for a, b in edges], DropReport())


def test_ties_of_citations():
    """0 cites 1 and 2; 1 cites 2 (cited already), 3 and 0 itself."""
    ties = CitationTies(of_edges((0, 1), (0, 2), (1, 2), (1, 3), (1, 0)))
    assert ties(0) == {1: 5, 2: 5, 3: 1} and ties(1) == {0: 5, 2: 5, 3: 5} and ties(3) == {}


def test_two_of_five_are_hard():
    draw = sampler(CitationTies(of_edges((0, 1), (0, 2), (1, 3), (2, 4))), seed=3)((0, 0))
    assert draw.kinds == (WEAKER, WEAKER, RANDOM, RANDOM, RANDOM) and {*draw.positives} <= {1, 2}
    assert {*draw.negatives[:2]} <= {3, 4} and not {*draw.negatives[2:]} & {0, 1, 2, 3, 4}


def test_no_more_hard_ones_than_there_are_pairs():
    draw = sampler(CitationTies(of_edges((0, 1), (1, 2))))((0, 0))
    assert draw.kinds == (WEAKER, RANDOM, RANDOM, RANDOM, RANDOM) and draw.negatives[0] == 2


def test_without_a_second_step_there_are_triplets_too():
    """The published code gives none."""
    draw = sampler(CitationTies(of_edges((0, 1), (0, 2))))((0, 0))
    assert {*draw.positives} <= {1, 2} and draw.kinds == (RANDOM,) * 5 and not {*draw.negatives} & {0, 1, 2}
    assert sampler(CitationTies(of_edges((0, 1))))((1, 0)) == Draw(dropped=((UNTIED, "p1"),))


def test_given_strengths_keep_their_margin():
    """Spans from 1 to 9: margin 4. Strong: above 5; weak: below 5; with 4 goes 9 alone, with 1 also 6."""
    draws = [sampler(GivenTies([(0, {1: 9, 2: 6, 3: 5, 4: 4, 5: 1})]), seed=s)((0, 0)) for s in range(60)]
    pairs = {(p, n) for d in draws for p, n, k in zip(*d[:3], strict=True) if k == WEAKER}
    assert pairs == {(1, 4), (1, 5), (2, 5)}
    easy = {p for d in draws for p, _, k in zip(*d[:3], strict=True) if k == RANDOM}
    assert easy == {1, 2}


def test_strengths_one_apart():
    """A margin of 1: nothing is weaker by more, and the strongest are the positives."""
    draw = sampler(GivenTies([(0, {1: 3, 2: 2})]))((0, 0))
    assert {*draw.positives} == {1} and {*draw.kinds} == {RANDOM}


def test_a_paper_tied_to_all_others():
    draw = sampler(GivenTies([(0, dict.fromkeys(range(1, 40), 5.0))]))((0, 0))
    assert len(draw.positives) == 1 and not draw.negatives and draw.kinds == (NONE,)


def test_workers_and_turns():
    """Any number of workers draws the same; a paper asked about again gets other triplets."""
    draw = sampler(
        CitationTies(of_edges(*((row, (row + step) % 40) for row in range(40) for step in (1, 2))))
    )
    keys = [(row, turn) for row in range(40) for turn in (0, 1)]
    report = Sampled()
    alone = list(draws(draw, keys, report=report))
    assert alone == list(draws(draw, keys, workers=2, report=Sampled()))
    assert report.queries == 80 and report.pairs == 400 and report.hard == 160
    assert all(one != other for (_, one), (_, other) in zip(alone[::2], alone[1::2], strict=True))


@pytest.mark.parametrize("wrong", [{"triplets": 0}, {"hard_share": 1.1}, {"margin": 1.0}])
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(InputError, match="are needed"):
        sampler(GivenTies([]), **wrong)

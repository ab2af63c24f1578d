"""SPECTER's triplets: the published rule on graphs small enough to see, and without its gap."""

from functools import partial

import numpy as np
import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.samplers.sampling import NONE, RANDOM, QuerySample
from sciprism.prepare.samplers.triplets import (
    NO_STRENGTH,
    WEAKER_LINK,
    SpecterTripletSampler,
    citation_strengths,
    given_strengths,
)
from sciprism.prepare.sources.citation_corpus import CitationGraph

NAMES = [f"p{row}" for row in range(40)]


def sampler(strengths, **more):
    """Return the function that samples the triplets of a (row, turn)."""
    return partial(SpecterTripletSampler(**more).sample_query, NAMES, strengths)


def given(links):
    return partial(given_strengths, {0: (np.array([*links], np.int32), np.array([*links.values()], np.float32))})


def build_graph(*edges):
    return CitationGraph.from_edges(NAMES, [(f"p{a}", f"p{b}") for a, b in edges], DropReport())


def test_link_strengths_of_citations():
    """0 cites 1 and 2; 1 cites 2 (cited already), 3 and 0 itself."""
    strengths = partial(citation_strengths, build_graph((0, 1), (0, 2), (1, 2), (1, 3), (1, 0)))
    assert strengths(0) == {1: 5, 2: 5, 3: 1} and strengths(1) == {0: 5, 2: 5, 3: 5} and strengths(3) == {}


def test_two_of_five_are_hard():
    sample = sampler(partial(citation_strengths, build_graph((0, 1), (0, 2), (1, 3), (2, 4))), seed=3)((0, 0))
    assert sample.kinds == (WEAKER_LINK, WEAKER_LINK, RANDOM, RANDOM, RANDOM) and {*sample.positives} <= {1, 2}
    assert {*sample.negatives[:2]} <= {3, 4} and not {*sample.negatives[2:]} & {0, 1, 2, 3, 4}


def test_no_more_hard_ones_than_there_are_pairs():
    sample = sampler(partial(citation_strengths, build_graph((0, 1), (1, 2))))((0, 0))
    assert sample.kinds == (WEAKER_LINK, RANDOM, RANDOM, RANDOM, RANDOM) and sample.negatives[0] == 2


def test_without_a_second_step_there_are_triplets_too():
    """The published code gives none."""
    sample = sampler(partial(citation_strengths, build_graph((0, 1), (0, 2))))((0, 0))
    assert {*sample.positives} <= {1, 2} and sample.kinds == (RANDOM,) * 5 and not {*sample.negatives} & {0, 1, 2}
    alone = sampler(partial(citation_strengths, build_graph((0, 1))))((1, 0))
    assert alone == QuerySample(dropped=((NO_STRENGTH, "p1"),))


def test_given_strengths_keep_their_margin():
    """Spans from 1 to 9: margin 4. Strong: above 5; weak: below 5; with 4 goes 9 alone, with 1 also 6."""
    samples = [sampler(given({1: 9, 2: 6, 3: 5, 4: 4, 5: 1}), seed=s)((0, 0)) for s in range(60)]
    pairs = {(p, n) for d in samples for p, n, k in zip(*d[:3], strict=True) if k == WEAKER_LINK}
    assert pairs == {(1, 4), (1, 5), (2, 5)}
    easy = {p for d in samples for p, _, k in zip(*d[:3], strict=True) if k == RANDOM}
    assert easy == {1, 2}


def test_a_paper_linked_to_all_others():
    sample = sampler(given(dict.fromkeys(range(1, 40), 5.0)))((0, 0))
    assert len(sample.positives) == 1 and not sample.negatives and sample.kinds == (NONE,)


@pytest.mark.parametrize("wrong", [{"triplets": 0}, {"hard_share": 1.1}, {"margin": 1.0}])
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(InputError, match="Input should be"):
        sampler(given({}), **wrong)

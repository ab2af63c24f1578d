"""SciNCL's triplets: bands of ranks, easy negatives beyond them."""

import numpy as np
import pytest

from sciprism.errors import InputError
from sciprism.prepare.samplers.sampling import RANDOM, SampleReport
from sciprism.prepare.samplers.triplets import FAR, NO_EASY, SciNCLSampler

SIZE = 200
NAMES = [f"p{i}" for i in range(SIZE)]
ANGLES = np.arange(SIZE) / SIZE
LINE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1).astype(np.float32)  # neighbours in the order of the rows
SMALL = {"near": 10, "far": 40}


def sample(rows=range(SIZE), vectors=LINE, report=None, **options):
    """Return the sample of each row."""
    report, sampler = report or SampleReport(), SciNCLSampler(**SMALL, **options)
    queries = [(row, 0) for row in rows]
    return dict(sampler.sample_neighbours(NAMES, vectors, queries, report=report))


def test_lists_are_zipped_as_published():
    """From one end of the line, rank r is row r + 1."""
    report = SampleReport()
    one = sample([0], report=report)[0]
    assert one.positives == (6, 7, 8, 9, 10) and one.negatives[3:] == (39, 40)
    assert one.kinds == (RANDOM,) * 3 + (FAR,) * 2
    assert min(one.negatives[:3]) > 40 and len({*one.negatives}) == 5
    assert report.queries == 1 and report.pairs == 5 and report.hard == 2


def test_bands_are_the_published_ranks_or_shares_of_the_papers_with_neighbours():
    near, far = SciNCLSampler().bands(100_000)
    assert [*near] == [20, 21, 22, 23, 24] and [*far] == [3998, 3999]
    near, far = SciNCLSampler(near=0.05, far=0.2).bands(SIZE)
    assert (near.start, near.stop, far.start, far.stop) == (5, 10, 38, 40)


def test_every_turn_of_a_query_gets_another_sample():
    """Bands are taken whole, so only the easy negatives change."""
    turns, report = [(row, turn) for row in (0, 150) for turn in range(3)], SampleReport()
    found = list(SciNCLSampler(**SMALL).sample_neighbours(NAMES, LINE, turns, report=report))
    assert [row for row, _ in found] == [0, 0, 0, 150, 150, 150] and report.queries == 6
    assert len({one.negatives[:3] for _, one in found[:3]}) == 3
    assert len({one.positives for _, one in found[:3]}) == 1
    assert dict(found[::3]) == sample([0, 150])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "graph of 200 papers with citations, where a paper has 199 neighbours"),
        ({"near": 3, "far": 40}, "near 3: a band of 5 ranks"),
        ({"near": 10, "far": 40.5}, "far 40.5: a band of 2 ranks .* set far to a number between 2 and 199"),
        ({"near": 39, "far": 40}, "before the near band ends at 39"),
        ({"near": 10, "far": 200}, "far 200: a band of 2 ranks that ends at rank 200"),
    ],
)
def test_bands_that_do_not_fit_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        list(SciNCLSampler(**wrong).sample_neighbours(NAMES, LINE, [(0, 0)], report=SampleReport()))


@pytest.mark.parametrize("wrong", [{"hard": 6}, {"triplets": 0}, {"easy_from": "moon"}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InputError):
        SciNCLSampler(**wrong)


def test_easy_negatives_may_come_from_the_queries_alone_and_too_few_are_counted():
    found = sample(range(100), easy_from="queries")
    assert len(found) == 100 and all(max(one.negatives[:3]) < 100 for one in found.values())
    report = SampleReport()
    assert not sample([0, 1], easy_from="queries", report=report)
    assert report.dropped.count(NO_EASY) == 2 and report.queries == 0


def test_papers_without_a_vector_are_counted_and_may_only_be_easy_negatives():
    vectors = LINE.copy()
    vectors[100:] = 0
    report = SampleReport()
    found = sample(vectors=vectors, report=report)
    assert sorted(found) == [*range(100)]
    assert report.dropped.count("no link to another paper") == 100
    assert all(max((*one.positives, *one.negatives[3:])) < 100 for one in found.values())
    assert any(max(one.negatives[:3]) >= 100 for one in found.values())
    assert len(sample(vectors=vectors, max_queries=7)) == 7

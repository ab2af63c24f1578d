"""The same examples from any number of processes; sample_outside: exact samples."""

from collections import Counter
from random import Random

import pytest

from sciprism.errors import InputError
from sciprism.papers import Label, Paper
from sciprism.prepare.samplers.examples import (
    sample_citation_triplets,
    sample_label_pairs,
    sample_outside,
    sample_same_author,
)
from sciprism.prepare.samplers.sampling import SampleReport, Sampling, sample_in_parallel

COUNT = 700  # more than two chunks
PAPERS = [
    Paper(
        id=f"p{i}",
        title=f"Paper {i}",
        venue=f"v{i % 9}",
        authors=(f"a{i % 50}", f"a{i % 31}"),
        references=tuple(f"p{(i * k + k) % COUNT}" for k in range(2, 9)),
    )
    for i in range(COUNT)
]
LABELS = [Label(id=f"l{i}", name=f"label {i}") for i in range(30)]
CARRIED = [[i % 30, i % 7, i % 11] for i in range(COUNT)]


def test_a_limit_below_0_is_refused():
    with pytest.raises(InputError, match="limit -1: give 0 or more"):
        Sampling(limit=-1)


def samples():
    """Every sampler that samples at random, each with its report."""
    edges = [(paper.id, cited) for paper in PAPERS for cited in paper.references]
    one, two, three = SampleReport(), SampleReport(), SampleReport()
    found = (
        list(sample_citation_triplets(PAPERS, edges, Sampling(seed=3, report=one))),
        list(sample_same_author(PAPERS, [p.authors for p in PAPERS], Sampling(report=two))),
        list(sample_label_pairs(PAPERS, LABELS, CARRIED, Sampling(report=three), max_per_label=40)),
    )
    return found, [report.to_json() for report in (one, two, three)]


def test_any_number_of_processes_gives_the_same(two_processes):
    alone = samples()
    two_processes()
    assert samples() == alone


def test_samples_come_in_order_and_stream(two_processes):
    two_processes()
    read = []

    def numbers():
        for number in range(20_000):
            read.append(number)
            yield number

    found = sample_in_parallel(abs, numbers())
    assert [next(found) for _ in range(300)] == list(range(300))
    assert len(read) < 5_000  # the rest is not even read
    found.close()


def test_numbers_outside_are_sampled_evenly_and_never_twice():
    counts = Counter(number for seed in range(3000) for number in sample_outside(Random(seed), 8, {0, 3, 4}, 2))
    assert {*counts} == {1, 2, 5, 6, 7}
    assert all(count == pytest.approx(1200, abs=120) for count in counts.values())
    assert sorted(sample_outside(Random(0), 8, {0, 3, 4}, 99)) == [1, 2, 5, 6, 7]
    assert sample_outside(Random(0), 3, {0, 1, 2}, 1) == []

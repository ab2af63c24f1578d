"""Samples that stream from several processes; sample_outside: exact samples."""

from collections import Counter
from random import Random

import pytest

from sciprism.errors import InputError
from sciprism.prepare.samplers.examples import (
    sample_outside,
)
from sciprism.prepare.samplers.sampling import Sampling, sample_in_parallel


def test_a_limit_below_0_is_refused():
    with pytest.raises(InputError, match="limit -1: give 0 or more"):
        Sampling(limit=-1)


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

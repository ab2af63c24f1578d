"""Which examples a step takes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.training.batches import OneSourcePlan, mixings, repeats_by_size, split_parts


def epoch_parts(plan, epoch=0):
    """All parts of an epoch."""
    return [part for place in range(plan.epoch) for part in plan[epoch * plan.epoch + place]]


def test_an_epoch_by_hand():
    """20 and 11 examples in batches of 5: 4 and 2 batches, the eleventh example waits."""
    plan = OneSourcePlan((20, 11), (1.0, 1.0), 5, seed=3)
    assert (plan.counts, plan.epoch) == ((4, 2), 6)
    found = epoch_parts(plan)
    assert Counter(source for source, _ in found) == {0: 4, 1: 2}
    assert sorted(row for source, rows in found if source == 0 for row in rows) == list(range(20))
    second = [row for source, rows in found if source == 1 for row in rows]
    assert len(second) == len(set(second)) == 10


def test_a_rate_repeats_and_thins():
    plan = OneSourcePlan((10, 100), (2.0, 0.1), 5, seed=0)
    assert plan.counts == (4, 2)
    twice = Counter(row for source, rows in epoch_parts(plan) if source == 0 for row in rows.tolist())
    assert twice == dict.fromkeys(range(10), 2)


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    batch=st.integers(2, 16),
    seed=st.integers(0, 5),
    epoch=st.integers(0, 3),
)
def test_batches_are_a_function_of_their_number(sizes, batch, seed, epoch):
    plan = OneSourcePlan(tuple(sizes), (1.0,) * len(sizes), batch, seed)
    again = OneSourcePlan(tuple(sizes), (1.0,) * len(sizes), batch, seed)
    for place in reversed(range(epoch * plan.epoch, (epoch + 1) * plan.epoch)):
        ((source, rows),) = plan[place]
        ((other, same),) = again[place]
        assert source == other
        assert np.array_equal(rows, same)
        assert len(set(rows.tolist())) == len(rows) == min(batch, sizes[source])
        assert rows.max() < sizes[source]


def test_large_sources_are_tempered():
    assert repeats_by_size((100, 25), 1.0) == (1.0, 1.0)
    assert repeats_by_size((90, 10), 0.0) == pytest.approx((50 / 90, 5.0))
    assert repeats_by_size((900, 100), 0.5) == pytest.approx((750 / 900, 2.5))  # 30 to 10


def test_processes_share_a_batch():
    """Slices of the parts laid end to end, as long as each other; every process is told of every part."""
    parts = [(3, np.arange(5)), (7, np.array([8])), (1, np.array([20, 21, 22]))]
    found = [[(s, rows.tolist()) for s, rows in split_parts(parts, rank, 2)] for rank in (0, 1)]
    assert found[0] == [(3, [0, 1, 2, 3]), (7, []), (1, [])]
    assert found[1] == [(3, [4]), (7, [8]), (1, [20, 21])]


def test_equal_shares_by_hand():
    """12, 3 and 6 examples in batches of 6: two of each, until the second is at its end."""
    plan = mixings["equal"]((12, 3, 6), (1.0, 1.0, 1.0), 6, seed=1)
    counts = [{source: len(rows) for source, rows in plan[n]} for n in range(plan.epoch)]
    assert counts == [{0: 2, 1: 2, 2: 2}, {0: 3, 1: 1, 2: 2}, {0: 4, 2: 2}]


def test_mixed_batches_are_uniform_over_sources_whatever_their_sizes():
    """As SciRepEval's MIXED_RANDOM: 1,000 of each of two sources come first, then the rest of the larger one."""
    plan = mixings["mixed"]((3000, 1000), (1.0, 1.0), 100, seed=1)
    counts = np.array(
        [[sum(len(rows) for at, rows in plan[n] if at == source) for source in (0, 1)] for n in range(40)]
    )
    assert plan.epoch == 40 and counts.sum(0).tolist() == [3000, 1000] and (counts.sum(1) == 100).all()
    early = counts[:15, 1]
    assert abs(early.mean() - 50) < 4 and early.std() > 2 and (counts[25:, 1] == 0).all()


@given(
    mixing=st.sampled_from(sorted(mixings)),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    rate=st.sampled_from([0.5, 1.0, 2.5]),
    batch=st.integers(2, 16),
    number=st.integers(0, 200),
)
def test_every_mixing(mixing, sizes, rate, batch, number):
    """A function of the number; no example twice within a turn of its source; no batch too large."""
    plan, again = (mixings[mixing](tuple(sizes), (rate,) * len(sizes), batch, 7) for _ in range(2))
    for (source, rows), (other, same) in zip(plan[number], again[number], strict=True):
        assert source == other and np.array_equal(rows, same)
        assert len(rows) and rows.min() >= 0 and rows.max() < sizes[source]
    assert sum(len(rows) for _, rows in plan[number]) <= batch
    seen = Counter((source, row) for source, rows in epoch_parts(plan) for row in rows.tolist())
    assert all(count <= max(1, np.ceil(rate)) for count in seen.values())

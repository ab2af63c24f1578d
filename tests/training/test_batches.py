"""Which examples a step takes."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sciprism.training.batches import Plan, mixed, share


def batches(plan, epoch=0):
    return [plan[epoch * plan.epoch + place] for place in range(plan.epoch)]


def test_an_epoch_by_hand():
    """20 and 11 examples in batches of 5: 4 and 2 batches, the eleventh example waits."""
    plan = Plan((20, 11), (1.0, 1.0), 5, seed=3)
    assert (plan.counts, plan.epoch) == ((4, 2), 6)
    found = batches(plan)
    assert Counter(source for source, _ in found) == {0: 4, 1: 2}
    assert sorted(row for source, rows in found if source == 0 for row in rows) == list(range(20))
    second = [row for source, rows in found if source == 1 for row in rows]
    assert len(second) == len(set(second)) == 10


def test_a_rate_repeats_and_thins():
    plan = Plan((10, 100), (2.0, 0.1), 5, seed=0)
    assert plan.counts == (4, 2)
    twice = Counter(row for source, rows in batches(plan) if source == 0 for row in rows.tolist())
    assert twice == dict.fromkeys(range(10), 2)


def test_a_source_below_a_batch_gives_all_it_has():
    plan = Plan((3,), (1.0,), 8, seed=0)
    assert sorted(plan[0][1].tolist()) == [0, 1, 2]


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    batch=st.integers(2, 16),
    seed=st.integers(0, 5),
    epoch=st.integers(0, 3),
)
def test_batches_are_a_function_of_their_number(sizes, batch, seed, epoch):
    plan = Plan(tuple(sizes), (1.0,) * len(sizes), batch, seed)
    again = Plan(tuple(sizes), (1.0,) * len(sizes), batch, seed)
    for place in reversed(range(epoch * plan.epoch, (epoch + 1) * plan.epoch)):
        source, rows = plan[place]
        other, same = again[place]
        assert source == other
        assert np.array_equal(rows, same)
        assert len(set(rows.tolist())) == len(rows) == min(batch, sizes[source])
        assert rows.max() < sizes[source]


def test_epochs_differ():
    plan = Plan((64,), (1.0,), 8, seed=0)
    assert [r.tolist() for _, r in batches(plan, 0)] != [r.tolist() for _, r in batches(plan, 1)]


def test_processes_share_a_batch():
    assert [share(range(9), rank, 2) for rank in (0, 1)] == [range(4), range(4, 8)]


def test_seeds_do_not_depend_on_the_machine():
    assert mixed(1, "one") == 8101259066628980671

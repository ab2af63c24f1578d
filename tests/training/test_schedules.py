"""Learning rates by hand, and the groups of the optimiser."""

import pytest
import torch

from sciprism import Encoder
from sciprism.training.optimisers import adamw, set_rate
from sciprism.training.recipe import Optimiser, Schedule
from sciprism.training.schedules import rate


def rates(steps=10, peak=1.0, **schedule):
    return [rate(Schedule(**schedule), step, steps, peak) for step in range(steps)]


def test_linear_by_hand():
    """Two steps of warm-up to a peak at the third, then down by an eighth to the floor."""
    assert rates(name="linear", warmup=0.2) == pytest.approx(
        [1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    )
    assert rates(name="linear", warmup=2, floor=0.3)[-3:] == pytest.approx([3 / 8, 0.3, 0.3])


def test_a_linear_rate_may_end_elsewhere_than_its_stage():
    """Two steps of warm-up, then an eighteenth less each step: the tenth has 11/18 of the peak."""
    assert rates(name="linear", warmup=2, end=20)[2:] == pytest.approx([n / 18 for n in range(18, 10, -1)])
    assert rates(name="linear", warmup=2, end=4)[2:] == pytest.approx([1, 1 / 2, 0, 0, 0, 0, 0, 0])


def test_the_other_schedules():
    assert rates(name="constant", warmup=0) == [1.0] * 10
    falling = rates(name="inverse-square-root", warmup=4)
    assert falling[4] == 1.0
    assert falling[8] == pytest.approx((4 / 8) ** 0.5)


def test_biases_and_norms_do_not_decay(tiny_model):
    model = Encoder.start(tiny_model, pooling="mean", device="cpu").model
    optimiser = adamw(model.named_parameters(), Optimiser(lr=1e-3, weight_decay=0.1), layers=2)
    for group in optimiser.param_groups:
        assert {p.ndim > 1 for p in group["params"]} == {group["weight_decay"] == 0.1}
    counted = sum(p.numel() for group in optimiser.param_groups for p in group["params"])
    assert counted == sum(p.numel() for p in model.parameters())


def test_lower_layers_learn_more_slowly(tiny_model):
    """TASER: lr * 0.8^(layers + 2 - depth); embeddings 0, block n at depth n + 1."""
    model = Encoder.start(tiny_model, pooling="mean", device="cpu").model
    named = dict(model.named_parameters()) | {"head": torch.nn.Parameter(torch.zeros(2, 2))}
    optimiser = adamw(named.items(), Optimiser(lr=1.0, layer_decay=0.8), layers=2)
    set_rate(optimiser, 0.5)
    of = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    assert of[id(named["embeddings.word.weight"])] == pytest.approx(0.5 * 0.8**4)
    assert of[id(named["blocks.0.attention.query.weight"])] == pytest.approx(0.5 * 0.8**3)
    assert of[id(named["blocks.1.attention.query.bias"])] == pytest.approx(0.5 * 0.8**2)
    assert of[id(named["head"])] == 0.5


def test_a_warm_up_may_go_down():
    """SciRepEval's flags: from 1e-4 to 5e-5 over 700 steps, then with the root of the step."""
    schedule = Schedule(name="inverse-square-root", warmup=700, start=1e-4)
    found = [rate(schedule, step, 5000, 5e-5) for step in range(5000)]
    assert found[0] == pytest.approx(1e-4, rel=1e-3) and found[699] > found[700] == pytest.approx(5e-5)
    assert found == sorted(found, reverse=True)
    assert found[2100] == pytest.approx(5e-5 / 3**0.5, rel=1e-3)

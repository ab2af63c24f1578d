"""How losses are weighed: by hand, and what holds of every weighting."""

import pytest
import torch

from build_sources import write_recipe
from sciprism.errors import InputError
from sciprism.training.processes import Processes
from sciprism.training.recipe_file import read_recipe
from sciprism.training.steps import check_weighting, gradient_norm, weightings


def build_weighting(name, sources, **settings):
    return weightings[name](check_weighting({"name": name} | settings), sources)


def weigh(weighting, places, losses, norms):
    return weighting(torch.tensor(places), torch.tensor(losses), torch.tensor(norms)).tolist()


def test_the_further_a_loss_has_fallen_the_less_it_counts():
    """Losses begin at 4 and 2; later they are 1 and 2: weights (1/4)^0.5 and (2/2)^0.5."""
    weighting = build_weighting("loss-balanced", 2)
    assert weigh(weighting, [0, 1], [4.0, 2.0], [1.0, 1.0]) == [1.0, 1.0]
    assert weigh(weighting, [0, 1], [1.0, 2.0], [1.0, 1.0]) == pytest.approx([0.5, 1.0])


def test_a_source_is_measured_by_its_own_first_loss():
    weighting = build_weighting("loss-balanced", 3, alpha=1.0)
    weigh(weighting, [0], [8.0], [1.0])
    assert weigh(weighting, [0, 2], [2.0, 5.0], [1.0, 1.0]) == pytest.approx([0.25, 1.0])


def test_a_source_that_begins_without_a_loss_begins_when_it_has_one():
    weighting = build_weighting("loss-balanced", 2, alpha=1.0)
    assert weigh(weighting, [0, 1], [0.0, 2.0], [1.0, 1.0]) == [1.0, 1.0]
    assert weigh(weighting, [0, 1], [0.5, 1.0], [1.0, 1.0]) == [1.0, 0.5]
    assert weigh(weighting, [0, 1], [0.1, 0.0], [1.0, 1.0]) == pytest.approx([0.2, 0.0])


def test_gradients_are_brought_to_like_lengths():
    """Lengths 3 and 1, like speeds: both want 2. The slopes are +3/2 and -1/2; the sum stays 2."""
    weighting = build_weighting("grad-norm", 2, lr=0.1)
    assert weigh(weighting, [0, 1], [1.0, 1.0], [3.0, 1.0]) == [1.0, 1.0]
    moved = torch.tensor([1 - 0.1 * 1.5, 1 + 0.1 * 0.5])
    expected = (2 * moved / moved.sum()).tolist()
    assert weigh(weighting, [0, 1], [1.0, 1.0], [3.0, 1.0]) == pytest.approx(expected)
    for _ in range(200):
        weights = weigh(weighting, [0, 1], [1.0, 1.0], [3.0, 1.0])
    assert 3 * weights[0] == pytest.approx(weights[1], rel=0.2)


def test_batches_of_one_source_have_nothing_to_compare(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model)
    with pytest.raises(InputError, match="grad-norm needs batches of several sources; mixing is one-source"):
        read_recipe(path, ['stages.0.weighting={name="grad-norm"}'])
    assert read_recipe(path, ['stages.0.weighting={name="grad-norm"}', "stages.0.mixing=equal"])


def test_the_length_of_a_gradient_is_not_that_of_its_batch():
    """A mean over the same vector once, twice and eight times has one length: twice that vector's."""
    for count in (1, 2, 8):
        vectors = torch.tensor([[3.0, 4.0]] * count, requires_grad=True)
        loss = vectors.square().sum(dim=1).mean()
        assert gradient_norm(loss, [vectors], Processes("cpu")) == pytest.approx(10.0)


def test_a_slow_source_may_have_a_longer_gradient():
    weighting = build_weighting("grad-norm", 2, lr=0.1, alpha=1.0)
    weigh(weighting, [0, 1], [1.0, 1.0], [1.0, 1.0])
    for _ in range(50):
        weights = weigh(weighting, [0, 1], [0.9, 0.3], [1.0, 1.0])
    assert weights[0] > 1.2 > 0.8 > weights[1]


@pytest.mark.parametrize("name", weightings)
def test_every_weighting_goes_on_from_what_it_remembers(name):
    """What it remembers is in its state; weights are positive and say nothing of absent sources."""
    one, other = build_weighting(name, 3), build_weighting(name, 3)
    for step in range(5):
        weigh(one, [0, 2], [2.0 - step / 4, 1.0], [1.0 + step, 2.0])
    other.load_state_dict(one.state_dict())
    found = [weigh(each, [0, 1, 2], [1.0, 3.0, 0.5], [1.0, 2.0, 3.0]) for each in (one, other)]
    assert found[0] == found[1] and min(found[0]) > 0 and len(found[0]) == 3


def test_wrong_tables():
    with pytest.raises(InputError, match="unknown weighting 'guess'; known: grad-norm, loss-balanced, none"):
        check_weighting({"name": "guess"})
    with pytest.raises(InputError, match=r"weighting: beta: .*known: name, alpha"):
        check_weighting({"name": "loss-balanced", "beta": 1})

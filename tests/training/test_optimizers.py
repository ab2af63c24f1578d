"""Learning rates by hand, and the groups of the optimizer."""

import pytest
import torch

from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.training.optimizers import OptimizerSettings, Schedule, build_optimizer, learning_rate, set_learning_rate


def rates(steps=10, peak=1.0, **schedule):
    return [learning_rate(Schedule(**schedule), step, steps, peak) for step in range(steps)]


def test_linear_by_hand():
    """Two steps of warm-up to a peak at the third, then down by an eighth to the minimum."""
    assert rates(name="linear", warmup=0.2) == pytest.approx(
        [1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    )
    assert rates(name="linear", warmup=2, min_lr=0.3)[-3:] == pytest.approx([3 / 8, 0.3, 0.3])


def test_the_other_schedules():
    assert rates(name="constant", warmup=0) == [1.0] * 10
    falling = rates(name="inverse-square-root", warmup=4)
    assert falling[4] == 1.0
    assert falling[8] == pytest.approx((4 / 8) ** 0.5)


def test_biases_and_norms_do_not_decay(tiny_model):
    model = Encoder.start(tiny_model, pooling="mean", device="cpu").model
    optimizer = build_optimizer(model.named_parameters(), OptimizerSettings(lr=1e-3, weight_decay=0.1), layers=2)
    for group in optimizer.param_groups:
        assert {p.ndim > 1 for p in group["params"]} == {group["weight_decay"] == 0.1}
    counted = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    assert counted == sum(p.numel() for p in model.parameters())


def test_lower_layers_learn_more_slowly(tiny_model):
    """TASER: lr * 0.8^(layers + 2 - depth); embeddings 0, block n at depth n + 1."""
    model = Encoder.start(tiny_model, pooling="mean", device="cpu").model
    named = dict(model.named_parameters()) | {"head": torch.nn.Parameter(torch.zeros(2, 2))}
    optimizer = build_optimizer(named.items(), OptimizerSettings(lr=1.0, layer_decay=0.8), layers=2)
    set_learning_rate(optimizer, 0.5)
    of = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert of[id(named["embeddings.word.weight"])] == pytest.approx(0.5 * 0.8**4)
    assert of[id(named["blocks.0.attention.query.weight"])] == pytest.approx(0.5 * 0.8**3)
    assert of[id(named["blocks.1.attention.query.bias"])] == pytest.approx(0.5 * 0.8**2)
    assert of[id(named["head"])] == 0.5


def test_what_a_method_adds_has_its_own_rate(tiny_model):
    encoder = Encoder.start(tiny_model, method="control-codes", pooling="mean", device="cpu")
    named, settings = dict(encoder.model.named_parameters()), OptimizerSettings(lr=1e-5, method_lr=1e-3)
    optimizer = build_optimizer(named.items(), settings, 2, encoder.method)
    set_learning_rate(optimizer, 0.5e-5)
    of = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    rates = {encoder.method.owns_parameter(name): of[id(p)] for name, p in named.items()}
    assert rates == {True: pytest.approx(0.5e-3), False: pytest.approx(0.5e-5)}


needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch has Muon from 2.9 on")


def muon_of(model):
    settings = OptimizerSettings(name="muon", lr=1e-2, weight_decay=0.0)
    return build_optimizer(model.named_parameters(), settings, layers=2)


def with_gradients(model, seed):
    draw = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=draw)
    return model


@needs_muon
def test_muon_turns_a_matrix_by_its_gradient_made_orthogonal(tiny_model):
    """Its change has singular values that are nearly equal, and AdamW's length: rate * 0.2 * sqrt(side)."""
    model = with_gradients(Encoder.start(tiny_model, pooling="mean", device="cpu").model, 0)
    weight, word = model.blocks[0].attention.query.weight, model.embeddings.word.weight
    before, gradient, words = weight.detach().clone(), weight.grad.clone(), word.detach().clone()
    muon_of(model).step()
    change = before - weight.detach()
    left, _, right = torch.linalg.svd(gradient)
    length = 1e-2 * 0.2 * max(weight.shape) ** 0.5
    along = torch.diagonal(left.T @ change @ right.T) / length
    assert along.min() > 0.3 and along.max() < 1.3 and along.median() == pytest.approx(0.9, abs=0.3)
    torch.testing.assert_close(words - word.detach(), 1e-2 * word.grad.sign(), rtol=1e-3, atol=1e-6)


def test_muon_without_a_matrix_of_a_block_is_refused():
    named = {"head.weight": torch.nn.Parameter(torch.zeros(2, 2))}
    with pytest.raises(InputError, match="no matrix of a block is trained"):
        build_optimizer(named.items(), OptimizerSettings(name="muon", lr=1e-2), layers=2)


@needs_muon
def test_muon_goes_on_from_its_state(tiny_model):
    one, other = (Encoder.start(tiny_model, pooling="mean", device="cpu").model for _ in range(2))
    first, second = muon_of(one), muon_of(other)
    for optimizer, model in ((first, one), (second, other)):
        with_gradients(model, 1)
        optimizer.step()
    third = muon_of(other)
    third.load_state_dict(second.state_dict())
    for optimizer, model in ((first, one), (third, other)):
        set_learning_rate(optimizer, 5e-3)
        with_gradients(model, 2)
        optimizer.step()
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)

"""The fast linear layer computes what the plain one does, wherever it is in use."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sciprism.arrays import mkl_is_faster
from sciprism.encoders import layers
from sciprism.encoders.layers import ACTIVATIONS, FUSED, Linear, PackedLinear, onednn_works

# what each activation is, written out
FORMULAS = {
    "none": lambda x: x,
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
    "relu": lambda x: x.clamp(min=0),
    "tanh": torch.tanh,
}
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(*shape, generator=generator) for shape in ((37, 24), (40, 24), (40,)))


@pytest.fixture
def onednn(monkeypatch):
    """Choose oneDNN's products on every processor, also where MKL's are faster."""
    monkeypatch.setattr(layers, "mkl_is_faster", lambda: False)


@pytest.mark.parametrize(
    ("newest", "mkl", "faster"), [("AVX2", True, True), ("AVX2", False, False), ("AVX512", True, False)]
)
def test_float32_is_left_to_mkl_where_avx2_is_the_newest(newest, mkl, faster, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: newest)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    assert mkl_is_faster.__wrapped__() == faster
    monkeypatch.setattr(layers, "mkl_is_faster", lambda: faster)
    for dtype in (torch.float32, torch.bfloat16):
        chosen = onednn_works(dtype) and not (faster and dtype is torch.float32)
        assert PackedLinear(torch.eye(3), None, "none", dtype).packed == chosen


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_fast_and_plain_agree(activation, dtype, tensors, onednn, monkeypatch):
    x, weight, bias = tensors
    fast = PackedLinear(weight, bias, activation, dtype)
    assert fast.packed == (activation in FUSED and onednn_works(dtype))
    monkeypatch.setattr(layers, "onednn_works", lambda _: False)
    plain = PackedLinear(weight, bias, activation, dtype)
    assert not plain.packed
    rounded = (tensor.to(dtype).double() for tensor in (x, weight, bias))
    exact = FORMULAS[activation](F.linear(*rounded))
    for layer in (fast, plain):
        out = layer(x)
        assert out.dtype == dtype and out.shape == (37, 40)
        assert ((out.double() - exact).abs() / exact.abs().clamp(min=1)).max() < TOLERANCE[dtype]
    assert fast(x[:1]).shape == (1, 40)


def replace_parameter(layer, weight):
    layer.weight = nn.Parameter(weight)


def reuse_memory(layer, weight):
    """A weight that is freed, and another one: its memory might be the first one's."""
    layer.weight.data = torch.empty(0)
    layer.weight.data = weight.clone()


CHANGES = {
    "in place": lambda layer, weight: layer.weight.copy_(weight),
    "state": lambda layer, weight: layer.load_state_dict({"weight": weight, "bias": layer.bias}),
    "assigned state": lambda layer, weight: layer.load_state_dict({"weight": weight, "bias": layer.bias}, assign=True),
    "parameter": replace_parameter,
    "data": lambda layer, weight: setattr(layer.weight, "data", weight.clone()),
    "data twice": reuse_memory,
    "in place of data": lambda layer, weight: layer.weight.data.copy_(weight),  # torch does not count it
    "foreach": lambda layer, weight: torch._foreach_copy_([layer.weight], [weight]),
    "trained": lambda layer, weight: layer.train().weight.copy_(weight),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_packed_weights_follow_changes(change, tensors, onednn):
    x, weight, _ = tensors
    layer = Linear(24, 40)
    layer.prepare(torch.float32)
    before, packed = layer(x), layer.packed()
    assert layer.packed() is packed, "it is packed once"
    CHANGES[change](layer, weight)
    after = layer(x)
    assert not torch.equal(after, before) and torch.allclose(after, F.linear(x, weight, layer.bias), atol=1e-5)
    assert (layer.packed() is None) == (change == "trained")


def test_a_build_of_torch_without_the_operator(monkeypatch):
    class Missing:
        def __getattr__(self, name):
            raise AttributeError(name)

    onednn_works.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(torch.ops, "mkldnn", Missing(), raising=False)
        assert not onednn_works(torch.float32)
        assert not PackedLinear(torch.eye(3), torch.zeros(3), "gelu", torch.float32).packed
    onednn_works.cache_clear()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_dropout_drops_at_its_rate_the_same_again_for_a_seed(dtype):
    x = torch.ones(333, 601, dtype=dtype, requires_grad=True)
    for rate in (0.1, 0.5):
        with layers.seeded_dropout(3, x.device):
            first, second = layers.drop(x, rate), layers.drop(x, rate)
        with layers.seeded_dropout(3, x.device):
            assert torch.equal(layers.drop(x, rate), first)
        kept = first != 0
        assert first.dtype == dtype and not torch.equal(first, second)
        assert kept.double().mean() == pytest.approx(1 - rate, abs=0.005)  # five standard deviations
        assert kept.double().mean(0).std() == pytest.approx((rate * (1 - rate) / 333) ** 0.5, rel=0.15), "independent"
        assert (first[kept] == torch.tensor(1 / (1 - rate), dtype=dtype)).all()
        assert torch.equal(torch.autograd.grad(first.sum(), x)[0], first.detach())

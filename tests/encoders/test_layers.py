"""The fast linear layer computes what the plain one does, wherever it is in use."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sciprism.encoders import attention, layers
from sciprism.encoders.attention import attend_packed, attend_padded
from sciprism.encoders.layers import (
    ACTIVATIONS,
    FUSED,
    Linear,
    PackedLinear,
    onednn_works,
    pack,
    poolings,
    seeded_dropout,
    token_batches,
)

# what each activation is, written out
FORMULAS = {
    "none": lambda x: x,
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
    "relu": lambda x: x.clamp(min=0),
    "tanh": torch.tanh,
    "silu": lambda x: x / (1 + torch.exp(-x)),
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


def reuse_memory(layer, weight):
    """A weight that is freed, and another one: its memory might be the first one's."""
    layer.weight.data = torch.empty(0)
    layer.weight.data = weight.clone()


CHANGES = {
    "in place": lambda layer, weight: layer.weight.copy_(weight),
    "state": lambda layer, weight: layer.load_state_dict({"weight": weight, "bias": layer.bias}),
    "assigned state": lambda layer, weight: layer.load_state_dict({"weight": weight, "bias": layer.bias}, assign=True),
    "parameter": lambda layer, weight: setattr(layer, "weight", nn.Parameter(weight)),
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


# ---- Packed batches, and the split of a corpus into batches ----


def test_texts_of_one_route_must_be_adjacent():
    with pytest.raises(ValueError, match="must be next to each other"):
        pack([[1], [2], [3]], ["a", "b", "a"])
    with pytest.raises(ValueError, match="2 texts but 1 routes"):
        pack([[1], [2]], ["a"])


@pytest.mark.parametrize(
    ("lengths", "most", "batches"),
    [
        ([], None, []),
        ([3, 9, 5, 0, 2, 5], None, [[1], [2, 5], [0, 4, 3]]),  # longest first, full to the last token
        ([11, 30, 1], None, [[1], [0], [2]]),  # one beyond the budget is alone
        ([1, 1, 1, 1, 1], 2, [[0, 1], [2, 3], [4]]),
    ],
)
def test_batches_hold_each_text_once_within_the_budget(lengths, most, batches):
    assert list(token_batches(lengths, 10, most)) == batches


# ---- From states to vectors: by hand, and what holds of every pooling ----


@pytest.mark.parametrize("pooling", [poolings[n] for n in sorted(set(poolings) - {"code"})])
def test_every_pooling(pooling):
    """One vector per text, from its own tokens alone; gradients reach no other text."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(10, 4, generator=generator, requires_grad=True)
    batch = pack([[1] * 4, [1], [1] * 5])
    vectors = pooling(states, batch)
    assert vectors.shape == (3, 4) and vectors.dtype == torch.float32
    assert torch.equal(vectors[1], states[4])  # a text of one token
    for text, (start, end) in enumerate(((0, 4), (4, 5), (5, 10))):
        alone = pooling(states[start:end], pack([[1] * (end - start)]))
        assert torch.allclose(alone[0], vectors[text], atol=1e-6)
        (gradient,) = torch.autograd.grad(vectors[text].sum(), states, retain_graph=True)
        assert not gradient[:start].any() and not gradient[end:].any()
        assert gradient.sum().item() == pytest.approx(4)  # each entry is a mean with weights that sum to 1


# ---- The transformer's slots: each does what its formula says, and nothing when it says nothing ----


@pytest.mark.parametrize(
    ("dtype", "width", "capability", "takes"),
    [
        (torch.bfloat16, 64, (8, 0), True),
        (torch.float16, 256, (9, 0), True),
        (torch.float32, 64, (9, 0), False),
        (torch.bfloat16, 64, (7, 5), False),
        (torch.bfloat16, 264, (9, 0), False),
        (torch.bfloat16, 17, (9, 0), False),
    ],
)
def test_what_flash_attention_takes(dtype, width, capability, takes, monkeypatch):
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda _device: capability)
    assert attention.takes_flash(torch.empty(2, 1, width, dtype=dtype)) == takes


def dense(query, key, value, bounds, longest, dropout):
    """Flash attention as a device without the operator would compute it; no dropout."""
    lengths = tuple(torch.diff(bounds[0]).tolist())
    assert max(lengths) == longest[0]
    return attend_packed(query, key, value, queries=lengths, keys=lengths)


OPERATORS = {
    "missing": attention.attend_flash,
    "correct": dense,
    "wrong": lambda *args: dense(*args) + 0.1,
    "wrong gradient": lambda *args: dense(*args) * (float("nan") if args[-1] else 1),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_flash_attention_is_used_where_it_is_correct(operator, monkeypatch):
    monkeypatch.setattr(attention, "attend_flash", OPERATORS[operator])
    attention.flash_works.cache_clear()
    before = torch.get_rng_state()
    assert attention.flash_works(torch.device("cpu")) == (operator == "correct")
    assert torch.equal(torch.get_rng_state(), before)
    attention.flash_works.cache_clear()


def test_a_bias_by_distance_is_added_to_the_scores():
    """Packed and padded, forwards and backwards, next to the formula written out."""
    lengths, generator = (5, 1, 5, 3), torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(14, 2, 4, generator=generator, requires_grad=True) for _ in range(3))
    bias = torch.randn(2, 6, 6, generator=generator, requires_grad=True)  # longer than the longest text
    inputs = (query, key, value, bias)
    parts = []
    for q, k, v in zip(*(t.split(lengths) for t in inputs[:3]), strict=True):
        scores = torch.einsum("qhd,khd->hqk", q, k) / 2 + bias[:, : len(q), : len(q)]
        parts.append(torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), v))
    expected = torch.cat(parts)
    gradients = torch.autograd.grad(expected.square().sum(), inputs)
    for attend in (attend_packed, attend_padded):
        out = attend(query, key, value, queries=lengths, keys=lengths, bias=bias)
        assert torch.allclose(out, expected, atol=1e-6)
        found = torch.autograd.grad(out.square().sum(), inputs)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, gradients, strict=True))
    with seeded_dropout(1, torch.device("cpu")):
        dropped = attend_packed(query, key, value, queries=lengths, keys=lengths, bias=bias, dropout=1e-9)
    assert torch.allclose(dropped, expected, atol=1e-6)  # the path that dropout takes on a CPU


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_padded_attention_computes_what_packed_attention_does(dropout):
    """Dropout is compared where all texts have one length: then both sample the same elements."""
    queries, keys = ((5, 1, 5, 3), (7, 2, 5, 4)) if not dropout else ((4, 4), (6, 6))
    found = []
    for attend in (attend_packed, attend_padded):
        generator = torch.Generator().manual_seed(0)
        query, key, value = (
            torch.randn(rows, 2, 4, generator=generator, requires_grad=True)
            for rows in (sum(queries), *[sum(keys)] * 2)
        )
        with seeded_dropout(1, torch.device("cpu")):
            out = attend(query, key, value, queries=queries, keys=keys, dropout=dropout)
        gradients = torch.autograd.grad(out.square().sum(), (query, key, value))
        found.append((out, *gradients))
    for packed, padded in zip(*found, strict=True):
        assert torch.allclose(packed, padded, atol=1e-6)

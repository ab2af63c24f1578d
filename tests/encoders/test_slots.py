"""The transformer's slots: each does what its formula says, and nothing when it says nothing."""

import pytest
import torch
from torch import nn

from sciprism.encoders import attention
from sciprism.encoders.attention import RelativePositions, attend_packed, attend_padded
from sciprism.encoders.layers import seeded_dropout
from sciprism.encoders.packing import pack
from sciprism.encoders.transformer import Transformer, TransformerConfig

SHAPE = {"vocabulary": 50, "hidden": 16, "layers": 2, "heads": 4, "intermediate": 24, "positions": 32}
CONFIG = TransformerConfig(**SHAPE, dropout=0.0, attention_dropout=0.0)
SEQUENCES = [[7, 8, 9, 10], [11], [12, 13, 14], [15, 16]]
ROUTES = ["a", "a", "b", "c"]


def build_transformer(seed=0):
    """A transformer whose every weight matters."""
    torch.manual_seed(seed)
    model = Transformer(CONFIG)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if name.endswith("norm.weight") else 0.0, 0.3)
    return model.eval()


class Recorded(nn.Module):
    """A slot's module that adds nothing but a known map, and remembers what it was given."""

    def __init__(self, slope, shift):
        super().__init__()
        self.slope, self.shift = slope, shift

    def forward(self, x, batch):
        self.seen, self.batch = x, batch
        return self.slope * x + self.shift


def parts_of(block, x, batch):
    """The block's input to the feed-forward, and the feed-forward's output."""
    y = block.attention_norm(x + block.attention(x, batch))
    return y, block.feed_forward(y, batch)


def test_an_adapter_stands_after_the_feed_forward():
    """out = LN(y + ff(y) + adapter(LN(y + ff(y)))), the layout of Pfeiffer's adapters."""
    block, batch = build_transformer().blocks[0], pack(SEQUENCES, ROUTES)
    x = torch.randn(10, 16, generator=torch.Generator().manual_seed(1))
    y, fed = parts_of(block, x, batch)
    before = block(x, batch)
    block.adapter = Recorded(0.0, 0.0)
    assert torch.equal(block(x, batch), before)
    block.adapter = Recorded(-0.5, 2.0)
    norm = block.feed_forward_norm
    adapted = -0.5 * norm(y + fed) + 2.0
    assert torch.allclose(block(x, batch), norm(y + fed + adapted), atol=1e-6)
    assert torch.allclose(block.adapter.seen, norm(y + fed), atol=1e-6)
    assert block.adapter.batch is batch


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"heads": 3}, "3 heads do not divide a width of 16"),
        ({"layers": 0}, "layers is 0"),
        ({"hidden": "16"}, "hidden is '16'"),
        ({"padding_id": 50}, "padding id 50"),
        ({"dropout": 1.5}, "dropout"),
        ({"norm_eps": 0.0}, "epsilon"),
        ({"first_position": 32}, "outside the embedding tables"),
    ],
)
def test_a_config_that_constructs_runs(wrong, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**(SHAPE | wrong))


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


@pytest.mark.parametrize(
    ("operator", "works"),
    [
        (None, False),
        (dense, True),
        (lambda *args: dense(*args) + 0.1, False),
        (lambda *args: dense(*args) * (float("nan") if args[-1] else 1), False),
    ],
    ids=["missing", "correct", "wrong", "wrong gradient"],
)
def test_flash_attention_is_used_where_it_is_correct(operator, works, monkeypatch):
    if operator is not None:
        monkeypatch.setattr(attention, "attend_flash", operator)
    attention.flash_works.cache_clear()
    before = torch.get_rng_state()
    assert attention.flash_works(torch.device("cpu")) == works
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


def test_buckets_of_distances():
    """The near 8 on each side have their own; 128 and beyond share the last, as 8 x 16^(7/8) = 90.5 and more do."""
    distances = [0, -1, -7, -8, -11, -12, -90, -91, -128, -500, 1, 7, 8, 500]
    expected = [0, 1, 7, 8, 8, 9, 14, 15, 15, 15, 17, 23, 24, 31]
    assert RelativePositions.buckets(torch.tensor(distances)).tolist() == expected


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

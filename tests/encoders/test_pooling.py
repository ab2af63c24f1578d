"""From states to vectors: by hand, and what holds of every pooling."""

import pytest
import torch

from sciprism.encoders.packing import pack
from sciprism.encoders.pooling import poolings

BATCH = pack([[1, 2, 3], [4], [5, 6]])
STATES = torch.tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 0.0], [4.0, 5.0], [0.0, 1.0], [3.0, 2.0]])


@pytest.mark.parametrize(
    "name, expected",
    [
        ("cls", [[1.0, 10.0], [4.0, 5.0], [0.0, 1.0]]),
        ("mean", [[3.0, 10.0], [4.0, 5.0], [1.5, 1.5]]),
        ("last", [[6.0, 0.0], [4.0, 5.0], [3.0, 2.0]]),
    ],
)
def test_by_hand(name, expected):
    assert poolings[name](STATES, BATCH).tolist() == expected


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

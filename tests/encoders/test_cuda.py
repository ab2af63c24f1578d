"""On a CUDA device: the variable-length kernel and padded attention compute what the CPU computes."""

import numpy as np
import pytest
import torch

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.encoders.attention import attend_packed
from sciprism.encoders.layers import seeded_dropout
from sciprism.encoders.methods.registry import methods

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_dropout_of_attention_is_seeded(dtype):
    """In the flash kernel and in the padded one; the mean over many samples is the attention without dropout."""
    states = torch.randn(3, 40, 4, 16, generator=torch.Generator().manual_seed(0)).to("cuda", dtype)
    query, key, value = (x.clone().requires_grad_() for x in states)

    def attend(seed, rate=0.1):
        with seeded_dropout(seed, torch.device("cuda")):
            return attend_packed(query, key, value, queries=(30, 10), keys=(30, 10), dropout=rate)

    before = torch.cuda.get_rng_state()
    first, again, other = attend(1), attend(1), attend(2)
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(before, torch.cuda.get_rng_state()), "torch's generator is as it was"
    exact = attend(0, 0.0).float()
    mean = torch.stack([attend(seed).float() for seed in range(300)]).mean(dim=0)
    assert (mean - exact).abs().mean() < 0.03 * exact.abs().mean()
    gradients = [torch.autograd.grad(attend(1).float().square().sum(), query)[0] for _ in range(2)]
    assert torch.allclose(*gradients) and gradients[0].abs().max() > 0


@pytest.mark.parametrize("precision, least", [("float32", 0.99999), ("bfloat16", 0.999)])
@pytest.mark.parametrize("method", sorted(methods))
def test_every_method(method, precision, least, tiny_model, tmp_path):
    texts = ["", "dark matter", "the gene and the brain " * 60] * 3
    exact = perturb_weights(build_encoder(tiny_model, method))
    exact.save(tmp_path / "m")
    found = Encoder.load(tmp_path / "m", device="cuda", precision=precision)
    for format in exact.formats:
        a, b = (encoder.encode(texts, format=format) for encoder in (exact, found))
        assert ((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min() > least

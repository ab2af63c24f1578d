"""A batch in pieces gives the vectors and the gradient of the whole."""

from types import SimpleNamespace

import pytest
import torch

from sciprism import Encoder
from sciprism.encoders.packing import pack
from sciprism.encoders.transformer import TransformerConfig
from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.training.steps import EncoderPass, PassSettings, default_chunk_tokens

TEXTS = [
    "deep learning of protein structure",
    "gravity",
    "the effect of light on the cell memory of the mouse",
    "quantum energy field theory and evidence",
    "galaxy star planet",
    "vaccine trial",
]


@pytest.fixture
def encoder(tiny_model):
    encoder = Encoder.start(tiny_model, pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    encoder.model.train()
    return encoder


def gradients(encoder, pass_settings, seed=0):
    """Return the loss and the gradient of every weight by one pass."""
    encoder.model.zero_grad(set_to_none=True)
    there = EncoderPass(encoder, encoder.tokenize(TEXTS), ["all"] * len(TEXTS), settings=pass_settings, seed=seed)
    loss = in_batch_contrastive(there.vectors[:3], there.vectors[3:], temperature=10.0)
    loss.backward()
    there.backward()
    return loss.item(), {n: p.grad.clone() for n, p in encoder.model.named_parameters() if p.grad is not None}


def direct(encoder):
    """Return the same by autograd alone, all texts in one packed batch."""
    encoder.model.zero_grad(set_to_none=True)
    vectors = encoder.vectors(pack(encoder.tokenize(TEXTS)))
    loss = in_batch_contrastive(vectors[:3], vectors[3:], temperature=10.0)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in encoder.model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("tokens", [16, 24, 1000])
def test_the_gradient_is_the_direct_one(encoder, caching, tokens):
    loss, expected = direct(encoder)
    found_loss, found = gradients(encoder, PassSettings(chunk_tokens=tokens, gradient_caching=caching))
    assert found_loss == pytest.approx(loss, abs=1e-6)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-5, msg=name)


def test_with_dropout_caching_repeats_the_very_draws(encoder):
    encoder.model.set_dropout(0.3)
    cached, kept = (
        gradients(encoder, PassSettings(chunk_tokens=16, gradient_caching=c), seed=7) for c in (True, False)
    )
    assert cached[0] == kept[0]
    for name, gradient in cached[1].items():
        torch.testing.assert_close(gradient, kept[1][name], atol=1e-7, rtol=1e-6)
    other = gradients(encoder, PassSettings(chunk_tokens=16, gradient_caching=True), seed=8)
    assert other[0] != cached[0]


def test_routes_are_kept_apart(tiny_model):
    """Texts of two experts in one batch give each expert the gradient of its own texts."""
    encoder = Encoder.start(tiny_model, method="attention-experts", pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    encoder.model.train()
    routes = [encoder.route(f, "paper") for f in ("search", "proximity", "search", "proximity", "search", "search")]
    ids = encoder.tokenize(TEXTS)
    there = EncoderPass(encoder, ids, routes, settings=PassSettings(chunk_tokens=24), seed=0)
    for text, route, row in zip(ids, routes, there.vectors, strict=True):
        alone = encoder.vectors(pack([text], route))[0]
        torch.testing.assert_close(row, alone, atol=1e-6, rtol=1e-5)
    there.vectors[1].sum().backward()
    there.backward()
    experts = dict(encoder.model.named_parameters())
    touched = {name for name, p in experts.items() if ".experts." in name and p.grad is not None and p.grad.any()}
    assert touched
    assert all(".proximity." in name for name in touched)


def test_a_step_of_the_fused_optimizer_is_the_plain_one(tiny_model):
    """The fused one takes a gradient to have its parameter's layout; that of facet maps comes transposed."""
    encoder = Encoder.start(tiny_model, method="facets", options={"start": "kept"}, device="cpu")
    stepped = []
    _, found = gradients(encoder, PassSettings(chunk_tokens=1000))
    for fused in (True, False):
        weights = {name: p.detach().clone() for name, p in encoder.model.named_parameters() if name in found}
        for name, weight in weights.items():
            weight.grad = found[name]
        torch.optim.AdamW(list(weights.values()), lr=0.1, fused=fused).step()
        stepped.append(weights)
    for name, weight in stepped[0].items():
        torch.testing.assert_close(weight, stepped[1][name], msg=name)


BASE = {"vocabulary": 9, "heads": 12, "positions": 512}
SMALL = TransformerConfig(**BASE, layers=6, hidden=384, intermediate=1536)
LARGE = TransformerConfig(**BASE, layers=24, hidden=1020, intermediate=4096)


@pytest.mark.parametrize(
    ("config", "gib", "tokens"),
    [(LARGE, 0, 2_048), (SMALL, 8, 8_192), (SMALL, 79, 32_768), (LARGE, 8, 2_048), (LARGE, 24, 4_096)],
)
def test_the_chunks_of_a_gpu_are_as_large_as_its_memory_allows(config, gib, tokens, monkeypatch):
    facts = SimpleNamespace(total_memory=gib * 2**30)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _device: facts)
    assert default_chunk_tokens(torch.device("cuda" if gib else "cpu"), config) == tokens

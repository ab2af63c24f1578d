"""prism: its tokens attend to the text as in one masked sequence, and the text does not attend to them."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.encoders.layers import pack
from sciprism.formats import FORMATS

WEIGHTS = ("whole", "bottleneck", "map", "none")
TEXTS = ["dark matter", "the gene and the brain " * 9, "a black hole in our galaxy", "light", "new light"]


def prism(folder, **options):
    return build_encoder(folder, "prism", options=options)


def dense(encoder, ids, route, facets):
    """One text and a route's tokens as one sequence with a mask, from the weights alone: BERT by hand."""
    state = encoder.model.state_dict()
    heads = encoder.model.config.heads

    def linear(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], 1e-12)

    first = encoder.model.beside.routes[route] * facets
    rows, split = state["beside.rows.weight"][first : first + facets], encoder.method.options.split
    own = 0 if split else facets  # tokens in front of the text
    words = torch.cat([rows[:own], state["embeddings.word.weight"][ids]])
    places = torch.tensor([0] * own + list(range(len(ids))))
    x = words + state["embeddings.position.weight"][places] + state["embeddings.segment.weight"][0]
    x = norm(x, "embeddings.norm")
    for number in range(encoder.model.config.layers):
        if split and number == encoder.model.config.layers - encoder.method.options.depth:
            own, x = facets, torch.cat([x[0] + rows, x])
        mask = torch.zeros(len(x), len(x))
        mask[own:, :own] = -math.inf  # the text does not attend to the tokens

        def each(function, x, part, name, number=number, own=own):
            """The tokens by the route's own weights, if there are such, the text by the block's."""
            mine = f"beside.layers.{number}.{route}.{part}"
            shared = f"blocks.{number}.{name}"
            mine = mine if f"{mine}.weight" in state else shared
            return torch.cat([function(x[:own], mine), function(x[own:], shared)])

        q = each(linear, x, "query", "attention.query")
        k, v = (linear(x, f"blocks.{number}.attention.{part}") for part in ("key", "value"))
        q, k, v = (part.view(len(x), heads, -1).transpose(0, 1) for part in (q, k, v))
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + mask, dim=-1)
        mixed = (weights @ v).transpose(0, 1).flatten(1)
        y = each(norm, x + each(linear, mixed, "output", "attention.output"), *["attention_norm"] * 2)
        change = each(linear, F.gelu(each(linear, y, *["feed_forward.expand"] * 2)), *["feed_forward.contract"] * 2)
        mine = f"beside.layers.{number}.{route}"
        if f"{mine}.bottleneck.down.weight" in state:
            adapted = norm((y + change)[:own], f"blocks.{number}.feed_forward_norm")
            adapted = F.relu(linear(adapted, f"{mine}.bottleneck.down"))
            change = torch.cat([change[:own] + linear(adapted, f"{mine}.bottleneck.up"), change[own:]])
        x = each(norm, y + change, *["feed_forward_norm"] * 2)
        if f"{mine}.map.weight" in state:
            x = torch.cat([x[:own] + linear(x[:own], f"{mine}.map"), x[own:]])
    return x[:facets], x[facets:].mean(dim=0)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("facets", [1, 3])
def test_it_is_one_sequence_with_a_mask(tiny_model, facets, weights, split):
    options = {"facets": facets, "weights": weights, "depth": 1, "split": split}
    encoder = perturb_weights(prism(tiny_model, **options, plus=False))
    added = perturb_weights(prism(tiny_model, **options, plus=True))
    added.model.load_state_dict(encoder.model.state_dict(), strict=False)  # the last maps stay its own
    added.prepare()
    for format in FORMATS:
        route = encoder.route(format)
        vectors, both = encoder.encode(TEXTS, format=format), added.encode(TEXTS, format=format)
        parts = added.encode(TEXTS, format=format, facets=True)
        last = added.model.beside.maps[route]
        for row, ids in enumerate(encoder.tokenize(TEXTS)):
            tokens, text = dense(encoder, torch.tensor(ids), route, facets)
            changed = (text + tokens @ last.weight.T + last.bias).detach().numpy()
            assert np.abs(vectors[row] - tokens.mean(dim=0).numpy()).max() < 2e-5
            assert np.abs(both[row] - changed.mean(axis=0)).max() < 2e-5
            assert np.abs(parts[row] * facets - changed).max() < 2e-5


def test_all_formats_come_of_one_pass(tiny_model):
    encoder, passes = perturb_weights(prism(tiny_model)), []
    encoder.model.blocks[0].register_forward_hook(lambda *_: passes.append(1))
    found = encoder.encode_all(TEXTS)
    assert len(passes) == 1
    some = encoder.encode_all(TEXTS, formats=["search", "regression"])
    assert list(some) == ["search", "regression"]
    assert np.abs(some["search"] - found["search"]).max() < 1e-6
    assert encoder.encode_all(TEXTS, formats=[]) == {}
    queries = encoder.encode_all(TEXTS, role="query")
    assert not np.array_equal(queries["search"], found["search"])  # a route of its own, as in SciRepEval


def test_a_format_of_directions_of_its_own_lengths(tiny_model, tmp_path):
    """Each format's vectors are multiplied and keep their length; a folder keeps the numbers."""
    plain, scaled = (perturb_weights(prism(tiny_model, scaled=each)) for each in (False, True))
    scaled.model.load_state_dict(plain.model.state_dict(), strict=False)
    scaled.prepare()

    def stretched(vectors, route):
        found = vectors * scaled.model.beside.scales[route].detach().numpy()
        return found * np.sqrt((vectors**2).sum(1) / (found**2).sum(1))[:, None]

    before, after = plain.encode_all(TEXTS), scaled.encode_all(TEXTS)
    batch = pack(plain.tokenize(TEXTS))
    with torch.inference_mode():
        assert torch.equal(plain.model(batch), scaled.model(batch))
    for format in FORMATS:
        assert np.abs(after[format] - before[format]).max() > 0.05
        assert np.allclose(after[format], stretched(before[format], scaled.route(format)), atol=1e-5)
        assert np.allclose(scaled.encode(TEXTS, format=format), after[format], atol=1e-5)
    queries = plain.encode(TEXTS, format="search", role="query")
    expected = stretched(queries, "search")
    assert np.allclose(scaled.encode(TEXTS, format="search", role="query"), expected, atol=1e-5)
    scaled.save(tmp_path / "model")
    assert np.allclose(Encoder.load(tmp_path / "model").encode(TEXTS), after["proximity"], atol=1e-6)

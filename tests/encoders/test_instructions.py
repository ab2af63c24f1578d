"""Instructions against a slow reference computation; their gradients, their cache, other instructions."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from build_methods import build_encoder, perturb_weights
from sciprism.encoders.methods.instruction import SCIMULT_INSTRUCTIONS
from sciprism.errors import InputError

TEXTS = ["dark matter", "", "the gene and the brain " * 9]
OTHER = "Find a pair of scientific papers that are co-cited frequently."


@pytest.fixture(params=["instruction", "prefix"])
def encoder(request, tiny_model):
    return perturb_weights(build_encoder(tiny_model, request.param))


def layer(state, n, x, heads=4):
    """One BERT layer over all rows of x, which see each other, from named weights alone."""

    def linear(name, y):
        return F.linear(y, state[f"{name}.weight"], state[f"{name}.bias"])

    def norm(name, y):
        return F.layer_norm(y, y.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], 1e-12)

    block = f"blocks.{n}"
    q, k, v = (
        linear(f"{block}.attention.{part}", x).view(len(x), heads, -1).transpose(0, 1)
        for part in ("query", "key", "value")
    )
    weights = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1)
    mixed = (weights @ v).transpose(0, 1).reshape(len(x), -1)
    y = norm(f"{block}.attention_norm", x + linear(f"{block}.attention.output", mixed))
    fed = linear(f"{block}.feed_forward.contract", F.gelu(linear(f"{block}.feed_forward.expand", y)))
    return norm(f"{block}.feed_forward_norm", y + fed)


def embedded(state, ids):
    """Positions are counted from 0, for the instruction and for the text alike."""
    x = state["embeddings.word.weight"][ids] + state["embeddings.position.weight"][: len(ids)]
    x = x + state["embeddings.segment.weight"][0]
    scale, shift = state["embeddings.norm.weight"], state["embeddings.norm.bias"]
    return F.layer_norm(x, x.shape[-1:], scale, shift, 1e-12)


def slow(encoder, text, instruction, layers=2):
    """The sheet's words: layer n gets [x_t^(n-1); h^(n-1)], and only the text's outputs are kept."""
    state = dict(encoder.model.named_parameters())
    other = {k.removeprefix("context.encoder."): w for k, w in state.items() if "context." in k} or state
    x, h = (
        embedded(weights, encoder.tokenizer.encode(words).ids)
        for weights, words in ((other, instruction), (state, text))
    )
    for n in range(layers):
        both = layer(state, n, torch.cat([x, h]))
        x, h = layer(other, n, x) if n + 1 < layers else None, both[len(x) :]
    return h.mean(dim=0)


@pytest.mark.parametrize("format", ["classification", "regression", "proximity", "search"])
def test_against_the_slow_computation(format, encoder):
    words = SCIMULT_INSTRUCTIONS["classification" if format == "regression" else format]
    with torch.no_grad():
        expected = torch.stack([slow(encoder, text, words) for text in TEXTS]).numpy()
    assert np.abs(encoder.encode(TEXTS, format=format) - expected).max() < 1e-5
    assert encoder.route(format) == encoder.space(format) == words


def test_another_instruction(encoder, tiny_model):
    """Of a call, or as the model's own option: the same vectors, in a space and on a path of their own."""
    before = encoder.encode(TEXTS, format="proximity")
    other = encoder.encode(TEXTS, format="proximity", instruction=OTHER)
    assert np.abs(other - before).max() > 1e-3
    assert np.array_equal(encoder.encode(TEXTS, format="proximity"), before), "of that call alone"
    assert np.array_equal(encoder.encode(TEXTS, format="search", instruction=OTHER), other)
    options = {"instructions": {"proximity": OTHER}}
    own = perturb_weights(build_encoder(tiny_model, encoder.settings.method, options=options))
    assert np.array_equal(own.encode(TEXTS, format="proximity"), other)
    assert own.fingerprint != encoder.fingerprint
    for name in (encoder.space, encoder.path, encoder.route):
        assert name("proximity", instruction=OTHER) not in {name(format) for format in encoder.formats}
        assert name("proximity", instruction=SCIMULT_INSTRUCTIONS["search"]) == name("search")


def test_an_instruction_is_never_cut(encoder):
    """The maximum length is the text's; only the position table bounds an instruction."""
    encoder.truncate_to(5)
    assert len(encoder.model.context.tokens[SCIMULT_INSTRUCTIONS["search"]]) > 12
    with pytest.raises(InputError, match="an instruction of 513 tokens; the model has positions for 512"):
        encoder.encode(["light"], instruction="gene " * 511)
    assert np.isfinite(encoder.encode(["light"], instruction="gene " * 510)).all()


def test_a_model_of_another_method_takes_none(tiny_encoder):
    with pytest.raises(InputError, match="only the methods instruction and prefix take an instruction"):
        tiny_encoder.encode(["light"], instruction="find")

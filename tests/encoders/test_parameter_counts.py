"""How many parameters each of SciRepEval's methods adds to a BERT-base, derived here layer by layer."""

import pytest
import torch

from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.formats import FORMATS

LAYERS, HIDDEN = 12, 768
BASE = TransformerConfig(vocabulary=31090, hidden=HIDDEN, layers=LAYERS, heads=12, intermediate=3072, positions=512)


def linear(inputs, outputs, bias=True):
    return inputs * outputs + outputs * bias


def adapter():
    width = HIDDEN // 16
    return LAYERS * (linear(HIDDEN, width) + linear(width, HIDDEN))


def pal():
    small = 204
    shared = linear(HIDDEN, small) + linear(small, HIDDEN)
    return shared + LAYERS * 3 * linear(small, small)


def fusion():
    return LAYERS * (2 * linear(HIDDEN, HIDDEN) + linear(HIDDEN, HIDDEN, bias=False))


# method -> parameters for each format, as derived, as a number, and as the paper rounds it (table 5)
PER_FORMAT = {
    "control-codes": (HIDDEN, 768, 768),
    "adapters": (adapter(), 894_528, 1_000_000),
    "pals": (pal(), 1_819_836, 2_000_000),
    "adapter-fusion": (fusion(), 21_252_096, 22_000_000),
}


def parameters(name):
    """The shapes of all parameters of a method's model by name; nothing is allocated."""
    method = build_method(name, {})
    with torch.device("meta"):
        model = Transformer(BASE)
        method.fill(model)
    return method, {key: weight.numel() for key, weight in model.named_parameters()}


@pytest.mark.parametrize("name", PER_FORMAT)
def test_each_format_adds_what_its_layers_add(name):
    derived, number, published = PER_FORMAT[name]
    assert derived == number and 0.88 < derived / published <= 1
    method, counts = parameters(name)
    assert sum(n for key, n in counts.items() if method.owns_parameter(key)) == len(FORMATS) * derived

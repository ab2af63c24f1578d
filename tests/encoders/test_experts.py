"""Experts: their layers, modules, initial weights and number of parameters."""

import pytest
import torch

from build_methods import build_encoder
from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.transformer import Routed, Transformer, TransformerConfig
from sciprism.errors import InputError

BERT_BASE = TransformerConfig(vocabulary=30_522, hidden=768, layers=12, heads=12, intermediate=3_072, positions=512)
LINEAR = 768 * 768 + 768
# SciMult sheet, section 3.2: what an expert owns in one block
OWNED = {
    "attention-experts": 4 * LINEAR,
    "feedforward-experts": (768 * 3_072 + 3_072) + (3_072 * 768 + 768) + 2 * 768,
}
ROUTED = {"attention-experts": {"attention"}, "feedforward-experts": {"feed_forward", "feed_forward_norm"}}


@pytest.fixture(params=sorted(OWNED))
def method(request):
    return request.param


def filled(method, config=BERT_BASE, **options):
    with torch.device("meta"):
        model = Transformer(config)
    build_method(method, options).fill(model)
    return model


def test_every_nth_block(method):
    for every, places in ((1, set(range(12))), (2, {1, 3, 5, 7, 9, 11}), (3, {2, 5, 8, 11}), (12, {11})):
        blocks = filled(method, every=every).blocks
        for number, block in enumerate(blocks):
            found = {name for name, module in block.named_children() if isinstance(module, Routed)}
            assert found == (ROUTED[method] if number in places else set())


def test_regression_takes_the_expert_of_classification(method):
    expert_method = build_method(method, {})
    assert (
        expert_method.route("regression", "paper") == expert_method.route("classification", "label") == "classification"
    )
    experts = filled(method).blocks[1].get_submodule("attention" if "att" in method else "feed_forward")
    assert set(experts.experts) == {"classification", "proximity", "search"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"every": 0}, "every: Input should be greater than or equal to 1, got 0"),
        ({"every": True}, "every: Input should be a valid integer, got True"),
        ({"every": "2"}, "every: Input should be a valid integer, got '2'"),
        ({"every": 3}, "experts in every 3 blocks: the model has only 2"),
        ({"formats": []}, "formats: .*at least 1 item"),
        ({"formats": ["ranking"]}, r"formats\.0: Input should be 'classification', .*got 'ranking'"),
        ({"formats": "search"}, "formats: Input should be a valid array, got 'search'"),
        ({"expert": 2}, "expert: unknown key.*; known: formats, every"),
    ],
)
def test_wrong_options(options, message, method, tiny_model):
    with pytest.raises(InputError, match=message):
        build_encoder(tiny_model, method, options=options)

"""The packed transformer computes what the reference implementation computes, forwards and backwards."""

import random

import pytest
import torch

from build_models import draw, expected_states, reference, write
from sciprism.encoders.checkpoints.backbone import published_names, read_backbone
from sciprism.encoders.layers import pack

RAGGED = (7, 1, 33, 2, 7, 7, 128, 3, 64, 1)
CLOSE = 1e-5
# our parameters, one of each kind
WATCHED = (
    "embeddings.word.weight",
    "embeddings.position.weight",
    "embeddings.segment.weight",
    "embeddings.norm.weight",
    "relative.bias.weight",
    "blocks.0.attention.query.weight",
    "blocks.0.attention.value.bias",
    "blocks.0.attention_norm.bias",
    "blocks.1.attention.output.weight",
    "blocks.1.feed_forward.expand.weight",
    "blocks.1.feed_forward_norm.weight",
)


@pytest.fixture(scope="module", params=["bert", "roberta", "mpnet"])
def models(request, tmp_path_factory):
    """The reference and a function that loads its weights afresh into ours."""
    theirs = reference(request.param)
    folder = write(tmp_path_factory.mktemp(request.param), theirs)
    return theirs, lambda: read_backbone(folder)[0]


@pytest.fixture(scope="module")
def every_length(models):
    """One text of each length from 1 to the limit of 512, shuffled, with the reference's states; of MPNet, some."""
    lengths = list(range(512, 0, -7 if "MPNet" in type(models[0]).__name__ else -1))  # the last is 1
    random.Random(0).shuffle(lengths)
    sequences = draw(lengths)
    with torch.inference_mode():
        return sequences, expected_states(models[0], sequences)


def assert_close(ours, theirs):
    theirs = torch.cat(theirs)
    assert ours.shape == theirs.shape and ours.dtype == torch.float32
    assert (ours - theirs).abs().max().item() < CLOSE


@pytest.mark.parametrize("prepared", [True, False], ids=["packed", "plain"])
def test_inference_at_every_length_up_to_the_limit(models, every_length, prepared):
    _, load = models
    sequences, expected = every_length
    ours = load()
    if prepared:
        ours.prepare(torch.float32)
    else:  # a part of them: this path has no code of its own for length
        sequences, expected = sequences[::8], expected[::8]
    assert ours.config.max_length == 512
    with torch.inference_mode():
        assert_close(ours.eval()(pack(sequences)), expected)


@pytest.mark.parametrize("mode", ["train", "eval", "prepared"])
def test_states_and_gradients_where_gradients_flow(models, mode):
    theirs, load = models
    sequences = draw(RAGGED)
    ours = load()
    if mode == "prepared":
        ours.prepare(torch.float32)
    ours.train(mode == "train")
    states, expected = ours(pack(sequences)), expected_states(theirs, sequences)
    assert_close(states, expected)
    direction = torch.randn(states.shape, generator=torch.Generator().manual_seed(3))
    theirs.zero_grad()
    (states * direction).sum().backward()
    (torch.cat(expected) * direction).sum().backward()
    our_parameters, their_parameters = dict(ours.named_parameters()), dict(theirs.named_parameters())
    published = published_names(ours.config)
    assert ("relative.bias.weight" in published) == ("embeddings.segment.weight" not in published)  # only MPNet
    for our_name in [name for name in WATCHED if name in published]:
        their_name = published[our_name]
        ours_grad, theirs_grad = our_parameters[our_name].grad, their_parameters[their_name].grad
        scale = theirs_grad.abs().max()
        assert scale > 0.1, our_name
        assert ((ours_grad - theirs_grad).abs().max() / scale).item() < 1e-5, our_name


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"])
def test_activations_and_other_shapes(activation, tmp_path):
    """One segment only, few positions, a large epsilon, an odd width per head."""
    odd = {"type_vocab_size": 1, "max_position_embeddings": 40, "layer_norm_eps": 0.05, "hidden_act": activation}
    theirs = reference("roberta", **odd, hidden_size=30, num_attention_heads=6, num_hidden_layers=3)
    ours = read_backbone(write(tmp_path, theirs))[0].prepare(torch.float32)
    sequences = draw((38, 1, 17))
    assert ours.config.max_length == 38
    with torch.inference_mode():
        assert_close(ours(pack(sequences)), expected_states(theirs, sequences))
    assert_close(ours(pack(sequences)), expected_states(theirs, sequences))

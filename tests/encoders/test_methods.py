"""What holds of every method, tested the moment it is registered."""

import subprocess
import sys
from dataclasses import replace
from itertools import product
from shutil import copytree

import numpy as np
import pytest
import torch

from build_methods import build_encoder, pack_texts, perturb_weights
from sciprism import Encoder
from sciprism.encoders.layers import pack
from sciprism.encoders.methods.facets import FacetMaps
from sciprism.encoders.methods.registry import build_method, methods
from sciprism.encoders.settings import EncoderSettings
from sciprism.errors import InputError
from sciprism.formats import FORMATS, ROLES

TEXTS = ["dark matter", "", "the gene and the brain " * 9, "a black hole in our galaxy", "light"] * 3
STARTS_AS_BACKBONE = {"single", "attention-experts", "feedforward-experts", "linear-adapter", "lora", "prism"}


@pytest.fixture(params=sorted(methods))
def name(request):
    return request.param


@pytest.fixture
def encoder(name, tiny_model):
    return perturb_weights(build_encoder(tiny_model, name))


def test_an_unknown_option(name):
    with pytest.raises(InputError, match=f"the options of {name}: speed: unknown key.*; known: (none|[a-z, ]+)"):
        build_method(name, {"speed": 3})
    with pytest.raises(InputError, match=f"the options of {name}: .*object.*, got 3"):
        EncoderSettings(pooling="cls", max_length=9, method=name, options=3)


def test_loading_does_not_import_torchs_compiler(tiny_model, tmp_path):
    """It would take a second or more; torch does it where weights are drawn that nobody sees."""
    names = sorted(methods)
    for name in names:
        build_encoder(tiny_model, name).save(tmp_path / name)
    code = "import sys; from sciprism import Encoder\n"
    code += "for folder in sys.argv[1:]: Encoder.load(folder, device='cpu')\n"
    code += "print([name for name in sys.modules if name.startswith('torch._dynamo')])"
    command = [sys.executable, "-c", code, *(str(tmp_path / name) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("gradients", [False, True], ids=["inference", "gradients"])
def test_a_batch_of_several_formats_equals_separate_batches(gradients, encoder):
    """Formats in any order, as long as those of one route are adjacent."""
    routes = list(dict.fromkeys(encoder.route(format) for format in encoder.formats))
    formats = sorted(encoder.formats, key=lambda f: -routes.index(encoder.route(f)))
    texts = TEXTS[: len(formats)]
    with torch.set_grad_enabled(gradients):
        mixed = encoder.vectors(pack_texts(encoder, texts, formats)).detach().numpy()
    alone = [encoder.encode([t], format=f)[0] for t, f in zip(texts, formats, strict=True)]
    assert np.abs(mixed - np.array(alone)).max() < 1e-5


def test_encode_all_is_encode_of_each_format(encoder, name):
    """To the bit; but for rounding where all formats of a text are one product."""
    found, off = encoder.encode_all(TEXTS), 1e-6 if name == "prism" else 0
    for format in encoder.formats:
        assert np.abs(found[format] - encoder.encode(TEXTS, format=format)).max() <= off
    assert len({id(v) for v in found.values()}) == len({encoder.path(f) for f in encoder.formats})


def test_a_saved_model_is_the_same_model(encoder, tmp_path):
    encoder.save(tmp_path / "saved", seed=3)
    again = Encoder.load(tmp_path / "saved", device="cpu")
    assert again.settings == encoder.settings and again.fingerprint == encoder.fingerprint
    for format, role in product(encoder.formats, ROLES):
        ours, theirs = (e.encode(TEXTS, format=format, role=role) for e in (encoder, again))
        assert np.array_equal(ours, theirs)
    assert not list(tmp_path.glob(".*")), "nothing unfinished is left"


def test_what_is_untrained_equals_the_backbone(name, tiny_model, tiny_encoder):
    encoder = build_encoder(tiny_model, name)
    same = [np.array_equal(encoder.encode(TEXTS, format=f), tiny_encoder.encode(TEXTS)) for f in FORMATS]
    assert set(same) == {name in STARTS_AS_BACKBONE}


def test_gradients_reach_what_may_be_trained_and_nothing_else(encoder):
    encoder.model.train()
    for route in {encoder.route(format, role) for format, role in product(encoder.formats, ROLES)}:
        encoder.vectors(pack(encoder.tokenize(TEXTS), route)).square().sum().backward()
    for parameter_name, weight in encoder.model.named_parameters():
        if encoder.method.trainable(parameter_name):
            assert weight.grad is not None and weight.grad.abs().max() > 0, parameter_name
        else:
            assert not weight.requires_grad and weight.grad is None, parameter_name


def test_training_sees_new_weights_at_once_and_inference_after_preparing(encoder):
    """No snapshot outlives the weights that it was made of."""
    texts, format = TEXTS[2:4], encoder.formats[0]
    loaded = encoder.encode(texts, format=format)
    encoder.model.set_dropout(0.0)
    encoder.model.train()
    batch = pack_texts(encoder, texts, [format] * 2)
    trained = [w for w in encoder.model.parameters() if w.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.01)
    encoder.vectors(batch).square().sum().backward()
    optimizer.step()
    expected = encoder.vectors(batch).detach().numpy()
    with torch.no_grad():
        seen = encoder.vectors(batch).numpy()
    assert np.array_equal(seen, expected) and np.abs(seen - loaded).max() > 1e-3
    with pytest.raises(InputError, match=r"is in training; call prepare\(\) before it encodes"):
        encoder.encode(texts, format=format)
    encoder.prepare()
    assert np.abs(encoder.encode(texts, format=format) - expected).max() < 1e-4
    assert not encoder.model.training


# ---- Experts: their layers, modules, initial weights and number of parameters ----


@pytest.mark.parametrize("slot", ["attention", "feed_forward"])
def test_regression_takes_the_expert_of_classification(slot, tiny_model):
    encoder = build_encoder(tiny_model, f"{slot.replace('_', '')}-experts")
    assert encoder.route("regression", "paper") == encoder.route("classification", "label") == "classification"
    experts = encoder.model.blocks[1].get_submodule(slot)
    assert set(experts.experts) == {"classification", "proximity", "search"}


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("attention-experts", {"every": 0}, "every: Input should be greater than or equal to 1, got 0"),
        ("attention-experts", {"every": 3}, "experts in every 3 blocks: the model has only 2"),
        ("feedforward-experts", {"every": 3}, "experts in every 3 blocks: the model has only 2"),
        ("adapters", {"formats": ["ranking"]}, r"formats\.0: Input should be 'classification', .*got 'ranking'"),
        ("facets", {"facets": 0}, "facets: Input should be greater than or equal to 1, got 0"),
        ("facets", {"after": [3]}, "maps after block 3: the model has only 2"),
        ("facets", {"start": "zero"}, "start: Input should be 'published' or 'kept', got 'zero'"),
        ("prism", {"facets": 0}, "facets: Input should be greater than or equal to 1, got 0"),
        ("prism", {"depth": 9}, "depth is 9; the model has 2 layers"),
        ("prism", {"weights": "some"}, "weights: Input should be 'whole', 'bottleneck', 'map' or 'none'"),
        ("prism", {"text": "melted"}, "text: Input should be 'frozen' or 'trained'"),
        ("prism", {"plus": "False"}, "plus: Input should be a valid boolean, got 'False'"),
        ("prism", {"weights": "bottleneck", "reduction": 99}, "only 32 wide"),
    ],
)
def test_wrong_options(method, options, message, tiny_model):
    with pytest.raises(InputError, match=message):
        build_encoder(tiny_model, method, options=options)


# ---- Facets: maps and their sum by hand, both starts, one by one ----

PARTS = ["dark matter in a galaxy", "", "the gene and the brain"]


def facets(folder, **options):
    return build_encoder(folder, "facets", options=options, pooling="facets")


@pytest.mark.parametrize(
    ("reparameterise", "around", "expected"),
    [
        (False, 0.0, [[3.0, 4.0], [16.0, 2.0], [5.0, 6.0]]),
        (True, 0.0, [[1 - 4 + 1.0, 2.0], [-3 + 8.0, -4 + 2.0], [5.0, 6.0]]),
        (True, 1.0, [[-2 + 1.0, 2 + 2.0], [5 + 3.0, -2 + 4.0], [5.0, 6.0]]),
    ],
)
def test_maps_by_hand(reparameterise, around, expected):
    """The first state is doubled, the second turned; the third is no facet and stays.

    The maps' mean is [[1, 2], [0, 1]]; without it [[1, -2], [0, 1]] and [[-1, 2], [0, -1]] are left.
    """
    maps = FacetMaps(2, 2, reparameterise=reparameterise, around=around, tanh=False)
    with torch.no_grad():
        maps.weight.copy_(torch.tensor([[[2.0, 0.0], [0.0, 2.0]], [[0.0, 4.0], [0.0, 0.0]]]))
        maps.bias.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    found = maps(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), pack([[1, 2, 3]]))
    assert found.tolist() == expected


def test_the_vector_is_the_sum_of_the_facets(tiny_model):
    encoder = perturb_weights(facets(tiny_model))
    each = encoder.encode(PARTS, facets=True)
    assert each.shape == (3, 3, encoder.dim)
    assert np.abs(each.sum(axis=1) - encoder.encode(PARTS)).max() < 1e-5
    encoder.settings = replace(encoder.settings, normalize=True)
    assert np.array_equal(encoder.encode(PARTS, facets=True), each)
    unit = each.sum(axis=1) / np.linalg.norm(each.sum(axis=1), axis=1, keepdims=True)
    assert np.abs(encoder.encode(PARTS) - unit).max() < 1e-5
    assert min(np.abs(each[:, a] - each[:, b]).max() for a, b in ((0, 1), (1, 2), (0, 2))) > 1e-3


def test_published_tokens_start_as_the_reserved_words_of_the_vocabulary(tiny_model, tmp_path):
    """[unused1] and [unused2] (Multi2SPE, Appendix D); without them at random, and "kept" near CLS."""
    folder = copytree(tiny_model, tmp_path / "reserved")
    words = (folder / "vocab.txt").read_text().splitlines()
    reserved = {"[unused1]": 7, "[unused2]": 5}
    for word, row in reserved.items():
        words[row] = word
    (folder / "vocab.txt").write_text("\n".join(words))
    model = facets(folder, start="published").model
    assert torch.equal(model.embeddings.front.rows.weight, model.embeddings.word.weight[[*reserved.values()]])
    for encoder in (facets(tiny_model, start="published"), facets(folder, start="kept")):
        rows, embeddings = encoder.model.embeddings.front.rows.weight, encoder.model.embeddings.word.weight
        assert not (rows[:, None] == embeddings[None]).all(dim=2).any()


def test_tokens_stand_between_cls_and_the_text_and_count(tiny_model):
    encoder = facets(tiny_model, facets=4)
    encoder.truncate_to(9)
    (ids,) = encoder.tokenize(["the gene and the brain " * 9])
    assert len(ids) == 9 and ids[1:4] == [encoder.model.config.padding_id] * 3 and ids[0] != ids[1]

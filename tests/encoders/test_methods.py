"""What holds of every method, tested the moment it is registered."""

import json
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch

from build_methods import build_encoder, pack_texts, perturb_weights
from sciprism import Encoder
from sciprism.encoders.methods.registry import build_method, methods
from sciprism.encoders.packing import pack
from sciprism.encoders.settings import EncoderSettings
from sciprism.errors import InputError
from sciprism.formats import FORMATS, ROLES

TEXTS = ["dark matter", "", "the gene and the brain " * 9, "a black hole in our galaxy", "light"] * 3
STARTS_AS_BACKBONE = {"single", "attention-experts", "feedforward-experts", "linear-adapter", "prism"}


@pytest.fixture(params=sorted(methods))
def name(request):
    return request.param


@pytest.fixture
def encoder(name, tiny_model):
    return perturb_weights(build_encoder(tiny_model, name))


def test_every_format_and_role_has_a_route_and_a_space(name):
    method = build_method(name, {})
    for format, role in product(method.formats, ROLES):
        route, space = method.route(format, role), method.space(format, role)
        assert isinstance(route, str) and route and isinstance(space, str) and space
        assert (method.route(format, role), method.space(format, role)) == (route, space)


def test_options_are_json_and_make_the_same_method(name):
    options = build_method(name, {}).options.model_dump(mode="json")
    assert json.loads(json.dumps(options)) == options
    assert build_method(name, options).options.model_dump(mode="json") == options


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


def test_order_is_kept_and_bits_repeat(encoder):
    for format in encoder.formats:
        vectors = encoder.encode(TEXTS, format=format)
        assert np.array_equal(encoder.encode(TEXTS, format=format), vectors)
        assert np.abs(encoder.encode(TEXTS[::-1], format=format)[::-1] - vectors).max() < 1e-5


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


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision(precision, name, tiny_model):
    exact, rough = (perturb_weights(build_encoder(tiny_model, name, precision=p)) for p in ("float32", precision))
    for format in exact.formats:
        a, b = (encoder.encode(TEXTS, format=format) for encoder in (exact, rough))
        cosines = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
        assert cosines.min() > 0.999 and not np.array_equal(a, b)
    assert rough.fingerprint == exact.fingerprint


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


def test_what_is_the_methods_own_is_what_it_added(name, tiny_model, tiny_encoder):
    """Its own parameters may be trained, and are not those of what it grows from."""
    encoder = build_encoder(tiny_model, name)
    backbone = dict(build_encoder(tiny_model, methods[name].starts_from).model.named_parameters())
    for parameter_name, _ in encoder.model.named_parameters():
        own = encoder.method.owns_parameter(parameter_name)
        assert own == (parameter_name not in backbone), parameter_name
        assert not own or encoder.method.trainable(parameter_name)


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


def test_single_has_one_space_and_its_settings_name_no_options(tiny_encoder):
    single = tiny_encoder.method
    assert single.formats == FORMATS and "options" not in tiny_encoder.settings.to_json()
    assert {single.space(f, r) for f, r in product(FORMATS, ROLES)} == {"all"}

"""The fastest precision of a device, and what is said about one that it has no instructions for."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sciprism import Encoder
from sciprism.encoders import encoder as encoder_module
from sciprism.encoders import settings
from sciprism.errors import InputError, SlowPrecisionWarning

TEXTS = ["dark matter", "the gene and the brain " * 9]
OLD = {"avx2", "avx512_f"}
NEW = OLD | {"avx512_bf16"}


@pytest.fixture
def processor(monkeypatch):
    """Simulate a processor with these features."""
    return lambda features: monkeypatch.setattr(settings, "cpu_features", lambda: features)


@pytest.fixture
def model(tiny_model, tmp_path):
    Encoder.load(tiny_model, pooling="mean", device="cpu").save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("precision", "device", "state", "effective"),
    [
        ("float32", "cuda", "tf32", "tf32"),
        ("float32", "cuda", "ieee", "float32"),
        ("float32", "cpu", "tf32", "float32"),
        ("bfloat16", "cuda", "tf32", "bfloat16"),
    ],
)
def test_torch_may_be_set_to_products_in_tf32(precision, device, state, effective, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "matmul", SimpleNamespace(fp32_precision=state))
    assert settings.effective_precision(precision, torch.device(device)) == effective
    monkeypatch.setattr(torch.backends.cuda, "matmul", SimpleNamespace(allow_tf32=state == "tf32"))  # torch before 2.9
    assert settings.effective_precision(precision, torch.device(device)) == effective


def test_a_model_in_tf32_is_not_damaged(model, monkeypatch):
    stored = json.loads((model / "selfcheck.json").read_text())
    vectors = {format: [x * 1.0004 for x in vector] for format, vector in stored["vectors"].items()}
    (model / "selfcheck.json").write_text(json.dumps(stored | {"vectors": vectors}))
    (model / "checksums.json").unlink()
    with pytest.raises(InputError, match=r"by 4\.0e-04, in float32 at most 1e-04: damaged"):
        Encoder.load(model, device="cpu")
    monkeypatch.setattr(encoder_module.precisions, "effective_precision", lambda *_: "tf32")
    assert Encoder.load(model, device="cpu").describe()["precision"] == "tf32"


@pytest.mark.parametrize(("features", "fastest"), [(OLD, "float32"), (NEW, "bfloat16"), ({"bf16"}, "bfloat16")])
def test_auto_takes_what_the_processor_has(features, fastest, processor, model):
    processor(features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = Encoder.load(model, precision="auto", device="cpu")
    assert encoder.precision == fastest
    assert encoder.options == ({} if fastest == "float32" else {"precision": fastest})
    assert np.array_equal(encoder.encode(TEXTS), Encoder.load(model, precision=fastest, device="cpu").encode(TEXTS))


def test_auto_takes_float32_where_vectors_would_not_agree(processor, model, monkeypatch):
    processor(NEW)
    exact = Encoder.load(model, device="cpu").encode(TEXTS)
    monkeypatch.setattr("sciprism.encoders.settings.MIN_COSINE", 1.1)
    encoder = Encoder.load(model, precision="auto", device="cpu")
    assert (encoder.precision, encoder.options) == ("float32", {})
    assert np.array_equal(encoder.encode(TEXTS), exact)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_precision_without_instructions_is_a_warning(name, processor, model):
    processor(OLD)
    with pytest.warns(SlowPrecisionWarning, match=f"no instructions for {name}.*times as long as float32.*auto"):
        Encoder.load(model, precision=name, device="cpu")

"""The fastest precision of a device, and what is said about one that it has no instructions for."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from build_commands import run
from build_sources import write_recipe
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
    monkeypatch.setattr(encoder_module, "effective_precision", lambda *_: "tf32")
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
    monkeypatch.setattr("sciprism.encoders.encoder.MIN_COSINE", 1.1)
    encoder = Encoder.load(model, precision="auto", device="cpu")
    assert (encoder.precision, encoder.options) == ("float32", {})
    assert np.array_equal(encoder.encode(TEXTS), exact)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_precision_without_instructions_is_a_warning(name, processor, model):
    processor(OLD)
    with pytest.warns(SlowPrecisionWarning, match=f"no instructions for {name}.*times as long as float32.*auto"):
        Encoder.load(model, precision=name, device="cpu")


def test_an_unknown_precision_names_the_known_ones(model):
    with pytest.raises(InputError, match="unknown precision 'half'; known: auto, float32, bfloat16, float16"):
        Encoder.load(model, precision="half", device="cpu")


def test_features_are_found_without_torch_too(monkeypatch):
    found = settings.cpu_features()
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    names = {name for each in settings.CPU_FEATURES.values() for name in each}
    assert settings.cpu_features() & names == found & names


@pytest.mark.parametrize(("features", "recorded"), [(OLD, None), (NEW, "bfloat16")])
def test_embed_takes_auto_and_records_it(features, recorded, processor, model, tmp_path, monkeypatch, capsys):
    """A collection goes on in its own precision, whatever the processor is now."""
    from sciprism.store import StoredCollection

    processor(features)
    for name, words in (("papers", "Dark matter"), ("more", "The gene")):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "{name}", "title": "{words}"}}\n')
    command = ("embed", "-v", "-o", tmp_path / "vectors", "--model", model)
    status, _, said = run(monkeypatch, capsys, *command, tmp_path / "papers.jsonl")
    assert (status, "no instructions" in said) == (0, False)
    assert ("bfloat16" in said) == (recorded is not None)
    assert StoredCollection.open(tmp_path / "vectors").manifest.encoder.options.get("precision") == recorded
    processor(OLD)
    status, _, said = run(monkeypatch, capsys, *command, tmp_path / "more.jsonl")
    assert (status, "no instructions for bfloat16" in said) == (0, recorded is not None)
    found = StoredCollection.open(tmp_path / "vectors").manifest
    assert (found.papers, found.encoder.options.get("precision")) == (2, recorded)


def test_training_says_that_a_precision_is_slow(processor, tiny_model, tmp_path, monkeypatch, capsys):
    processor(OLD)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)  # test papers take seconds to read
    recipe = write_recipe(tmp_path, tiny_model, steps=1)
    command = ("train", recipe, "-o", tmp_path / "run", "--device", "cpu", "--set", "stages.0.precision=bfloat16")
    status, _, said = run(monkeypatch, capsys, *command)
    assert status == 0
    assert "contrast: this processor has no instructions for bfloat16" in said and 'precision = "float32"' in said

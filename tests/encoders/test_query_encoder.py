"""Vectors without torch: those of `Encoder`, and None for every model that they are not computed for."""

import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import NASTY, WORDS

from build_commands import run
from build_methods import build_encoder, perturb_weights
from sciprism import Collection, Encoder, Paper
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.new_models import add_lexical_features
from sciprism.encoders.query_encoder import open_query_encoder
from sciprism.files import CHECKSUMS_NAME
from sciprism.formats import FORMATS, ROLES

TEXTS = ["dark matter", "the gene and the brain " * 9, *NASTY]
SPLIT = {"split": True, "depth": 1}


def check(folder, formats=FORMATS):
    encoder = Encoder.load(folder, device="cpu")
    quick = open_query_encoder(str(folder), encoder.fingerprint)
    assert quick is not None and quick.formats == encoder.formats == formats
    for format in formats:
        for role in ROLES:
            found, exact = (each.encode(TEXTS, format=format, role=role) for each in (quick, encoder))
            assert found.dtype == np.float32 and np.abs(found - exact).max() < 1e-6 * max(1, np.abs(exact).max())
            assert quick.space(format, role) == encoder.space(format, role)


@pytest.mark.filterwarnings("ignore:.* items have no text:sciprism.errors.ShownWarning")
@pytest.mark.parametrize("options", [SPLIT, {**SPLIT, "depth": 2, "scaled": True}, {"split": True}])
@pytest.mark.parametrize("compact", [False, True])
def test_vectors_are_those_of_the_encoder(tiny_model, tmp_path, options, compact):
    encoder = perturb_weights(build_encoder(tiny_model, "prism", pooling="mean", options=options))
    encoder.save(tmp_path / "model", compact=compact)
    check(tmp_path / "model")


@pytest.mark.filterwarnings("ignore:.* items have no text:sciprism.errors.ShownWarning")
def test_lexical_features_prompts_lengths_and_some_formats(tiny_model, tmp_path):
    formats = ["proximity", "search"]
    texts = [*TEXTS, *WORDS[:40]]
    plain = add_lexical_features(Encoder.load(tiny_model, pooling="mean", device="cpu"), texts, width=8, share=0.5)
    plain.save(tmp_path / "lexical")
    template = {"prompts": {"query": "search: "}, "lowercase": True}
    options = {**SPLIT, "scaled": True, "formats": formats}
    settings = {"template": template, "normalize": True, "max_length": 24}
    made = Encoder.start(tmp_path / "lexical", method="prism", options=options, **settings)
    perturb_weights(made).save(tmp_path / "model", compact=True)
    check(tmp_path / "model", tuple(formats))


@pytest.mark.parametrize("name", sorted(methods))
def test_other_models_are_left_to_the_encoder(name, tiny_model, tmp_path):
    encoder = build_encoder(tiny_model, name)
    encoder.save(tmp_path / "model")
    assert open_query_encoder(str(tmp_path / "model"), encoder.fingerprint) is None
    assert open_query_encoder("no such model", encoder.fingerprint) is None


def test_models_of_another_kind_and_damaged_ones_are_left_to_the_encoder(tiny_model, tmp_path):
    encoder = build_encoder(tiny_model, "prism", pooling="mean", options=SPLIT)
    encoder.save(tmp_path / "model")
    folder = tmp_path / "model"
    assert open_query_encoder(str(folder), encoder.fingerprint) is not None
    assert open_query_encoder(str(folder), "0" * 16) is None
    (folder / CHECKSUMS_NAME).unlink()
    about, config = (folder / name for name in ("sciprism.json", "config.json"))
    for path, key in ((about, "settings"), (config, "model_type"), (folder / "selfcheck.json", "vectors")):
        before = path.read_text()
        for broken in ("{", "[]", json.dumps({k: v for k, v in json.loads(before).items() if k != key})):
            path.write_text(broken)
            assert open_query_encoder(str(folder), encoder.fingerprint) is None
        path.write_text(before)
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    for broken in (content[: len(content) // 2], content[:-4] + b"\0\0\0\0", b""):
        weights.write_bytes(broken)
        assert open_query_encoder(str(folder), encoder.fingerprint) is None


def test_a_search_prints_without_torch_what_it_prints_with_it(tmp_path, monkeypatch, capsys):
    Collection.create(tmp_path / "vecs", [Paper(id="p", title="Dark matter", abstract="Cells of mice divide.")])
    script = "import sys; from sciprism.cli.main import main\n"
    script += "try: main()\nfinally: sys.exit(9 * ('torch' in sys.modules))"
    words = ["search", "vecs", "how", "do", "cells", "divide"]
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    monkeypatch.chdir(tmp_path)
    assert done.stdout == run(monkeypatch, capsys, *words, "--device", "cpu:0")[1] and "mice" in done.stdout

"""`sciprism prepare lexical`: a model with a part for words, measured on training examples."""

import json

import numpy as np

from build_commands import run
from sciprism import Encoder
from sciprism.training.examples import Example, write_examples

NAMES = ("star", "gene", "market", "ocean", "proof", "engine")


def examples(path):
    found = [Example(f"the {a} of {b}", (f"a {b} and its {a} in a {c}",)) for a in NAMES for b in NAMES for c in NAMES]
    write_examples(found, path)
    return path


def prepare(monkeypatch, capsys, model, file, out, *more):
    model = Encoder.load(model, pooling="mean", device="cpu")
    model.save(out.parent / "given")
    return run(monkeypatch, capsys, "prepare", "lexical", out.parent / "given", file, "-o", out, *more)


def test_the_model_is_written_and_says_what_it_is_of(tiny_model, tmp_path, monkeypatch, capsys):
    file = examples(tmp_path / "pairs.jsonl")
    more = ("--width", 8, "--max-examples", 50)
    status, printed, _ = prepare(monkeypatch, capsys, tiny_model, file, tmp_path / "out", *more)
    assert status == 0 and "8 of 32 dimensions are lexical, measured on 100 texts" in printed
    made = Encoder.load(tmp_path / "out", device="cpu")
    assert made.model.config.lexical == 8
    vectors = made.encode(["the star of the ocean", "ocean star"])
    np.testing.assert_allclose(np.linalg.norm(vectors[:, -8:], axis=1), 0.5, atol=1e-4)
    about = json.loads((tmp_path / "out" / "sciprism.json").read_text())["provenance"]
    assert about["made_from"] == "given" and about["texts"] == 100


def test_too_few_texts_are_an_error(tiny_model, tmp_path, monkeypatch, capsys):
    file = examples(tmp_path / "pairs.jsonl")
    status, _, err = prepare(monkeypatch, capsys, tiny_model, file, tmp_path / "out", "--width", 8, "--max-examples", 3)
    assert status != 0 and "6 texts are too few" in err and not (tmp_path / "out").exists()

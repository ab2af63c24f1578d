"""`sciprism export`: what it says, and what it refuses."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from build_commands import run
from build_methods import build_encoder, perturb_weights
from sciprism import Encoder


@pytest.fixture
def command(monkeypatch, capsys):
    return lambda *words: run(monkeypatch, capsys, "export", *words)


def test_a_plain_folder_and_a_module(command, tiny_model, tmp_path):
    encoder = perturb_weights(build_encoder(tiny_model, "attention-experts"))
    encoder.save(tmp_path / "experts")
    for words, trust, message in (
        (("--format", "classification"), False, "encode_query those of queries, for classification"),
        ((), True, "encode gives the proximity vectors of papers, encode_query and encode_document the search ones"),
    ):
        folder = tmp_path / f"out-{len(words)}"
        status, out, err = command(tmp_path / "experts", "-o", folder, *words)
        assert status == 0 and not err.count("sciprism:") and out.startswith(f"{folder}: ")
        assert f'SentenceTransformer("{folder}"{", trust_remote_code=True" * trust})\n' in out and message in out
        model = SentenceTransformer(str(folder), device="cpu", trust_remote_code=trust)
        expected = encoder.encode(["dark matter"], format=words[-1] if words else "proximity")
        assert np.abs(model.encode(["dark matter"]) - expected).max() < 1e-5


def test_a_compact_folder(command, tiny_model, tmp_path):
    pooled = ("--pooling", "mean")
    status, out, _ = command(tiny_model, "-o", tmp_path / "c", *pooled, "--compact")
    assert status == 0 and out == f"{tmp_path / 'c'}: sciprism opens it\n"
    assert Encoder.load(tmp_path / "c", device="cpu").settings.pooling == "mean"


def test_prompts_and_width_of_a_folder(command, tiny_model, tmp_path):
    """Stated once, they hold for every command and in sentence-transformers."""
    words = ("--pooling", "mean", "--prompt", "query=query: ", "--prompt", "paper=passage: ", "--truncate-dim", 8)
    assert command(tiny_model, "-o", tmp_path / "out", *words)[0] == 0
    encoder, theirs = Encoder(tmp_path / "out"), SentenceTransformer(str(tmp_path / "out"), device="cpu")
    for role, call in (("query", theirs.encode_query), ("paper", theirs.encode_document)):
        assert np.abs(encoder.encode(["ice"], role=role) - call(["ice"])).max() < 1e-5
    assert encoder.dim == 8 and encoder.texts(["ice"], "query") == ["query: ice"]

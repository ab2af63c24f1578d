"""Static models give the vectors of the library that wrote them, also where a text is truncated."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.evaluation.systems import EncodingInput
from sciprism.evaluation.systems.loading import StaticEncoder, SystemOptions, load_system

WORDS = ["[UNK]", "dark", "matter", "star", "a"]
TABLE = np.array([[9, 9], [1, 0], [0, 2], [3, 4], [5, 5]], np.float32)
TEXTS = ["dark matter", "", "no such words", "dark star unknown", "star " * 300, "a a a a a star"]


def build_tokenizer():
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def write_model2vec(folder, config, **tensors):
    folder.mkdir()
    build_tokenizer().save(str(folder / "tokenizer.json"))
    save_file(tensors, folder / "model.safetensors")
    modules = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    for name, content in {"config": {"model_type": "model2vec"} | config, "modules": modules}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


# by hand; the tokens' median length is 4: of at most 2 tokens a text has 8 characters, "dark mat" or "a a a a "
BY_HAND = {
    "whole": ({}, [[0.5, 1], [0, 0], [0, 0], [2, 2], [3, 4], [28 / 6, 29 / 6]]),
    "truncated": ({"max_length": 2}, [[1, 0], [0, 0], [0, 0], [1, 0], [3, 4], [5, 5]]),
    "normalized": ({"normalize": True}, [[0.2**0.5, 0.8**0.5], [0, 0], [0, 0], [0.5**0.5] * 2, [0.6, 0.8], None]),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_model2vec(case, tmp_path):
    config, expected = BY_HAND[case]
    vectors = StaticEncoder(write_model2vec(tmp_path / "m", config, embeddings=TABLE)).encode(TEXTS)
    for vector, row in zip(vectors, expected, strict=True):
        assert row is None or np.abs(vector - row).max() < 1e-6
    assert vectors.dtype == np.float32


def test_model2vec_with_fewer_vectors_than_tokens(tmp_path):
    parts = {"mapping": np.array([0, 1, 1, 0, 0]), "weights": np.array([1, 1, 3, 0.5, 1])}
    folder = write_model2vec(tmp_path / "m", {}, embeddings=np.array([[2, 2], [1, 0]], np.float16), **parts)
    assert StaticEncoder(folder).encode(["dark matter", "star"]).tolist() == [[2, 0], [1, 1]]
    parts["mapping"][0] = 2
    with pytest.raises(InputError, match="the tokenizer knows 5 tokens"):
        StaticEncoder(write_model2vec(tmp_path / "n", {}, embeddings=np.ones((2, 2), np.float32), **parts))


@pytest.mark.parametrize("more", [[], [Normalize()]], ids=["plain", "normalized"])
def test_static_embedding_of_sentence_transformers(more, tmp_path):
    modules = [StaticEmbedding(build_tokenizer(), embedding_weights=TABLE), *more]
    theirs = SentenceTransformer(modules=modules, device="cpu", similarity_fn_name="dot", prompts={"query": "star "})
    theirs.save(str(tmp_path / "m"))
    system = load_system(str(tmp_path / "m"), SystemOptions(), tmp_path / "cache")
    encoder = system.encoder
    vectors = system.encode(EncodingInput(items=TEXTS, format="proximity"))
    assert np.abs(vectors - theirs.encode(TEXTS)).max() < 1e-6
    assert np.abs(encoder.encode(TEXTS, role="query") - theirs.encode_query(TEXTS)).max() < 1e-6
    assert (system.distance, encoder.dim, system.describe()["method"]) == ("dot", 2, "static")
    with pytest.raises(InputError, match="no other pooling or length"):
        load_system(str(tmp_path / "m"), SystemOptions(max_length=9), tmp_path / "cache")
    with pytest.raises(InputError, match="holds a static model, a vector per token without a network"):
        Encoder.load(tmp_path / "m")

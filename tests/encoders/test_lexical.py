"""Lexical features: their measured weights, the vectors, and all other features of an encoder with them."""

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.encoders.new_models import add_lexical_features, copy_weights, create_encoder
from sciprism.errors import InputError
from sciprism.formats import FORMATS

WIDTH = 8
WORDS = ("star", "gene", "market", "ocean", "proof", "engine", "insect", "laser")
TEXTS = [f"the {a} and the {b} of a {c}" for a in WORDS for b in WORDS for c in ("cell", "planet")]
OTHERS = ["a laser and an insect", "the the the", "", "proof of growth"]


@pytest.fixture
def lexical_encoder(tiny_encoder):
    return add_lexical_features(tiny_encoder, TEXTS, width=WIDTH, share=0.5)


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def by_hand(lexical_encoder, tiny_encoder, texts):
    """Vectors from the weights alone."""
    part = {name: weight.detach().double().numpy() for name, weight in lexical_encoder.model.lexical.named_parameters()}
    table = tiny_encoder.model.embeddings.word.weight.detach().double().numpy()
    bags = []
    for ids in tiny_encoder.tokenize(texts):
        bags.append(sum(part["weight"][each] * (table[each] - part["centre"]) for each in ids))
    lexical = np.stack(bags) @ part["words.weight"].T
    lexical *= part["share"] / np.maximum(np.linalg.norm(lexical, axis=1, keepdims=True), 1)
    meant = unit(tiny_encoder.encode(texts).astype(np.float64) @ part["dense.weight"].T)
    return np.concatenate([meant, lexical], axis=1)


def test_a_vector_is_a_dense_and_a_lexical_part(lexical_encoder, tiny_encoder):
    found = lexical_encoder.encode(OTHERS[:2])
    np.testing.assert_allclose(found, by_hand(lexical_encoder, tiny_encoder, OTHERS[:2]), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found[:, :-WIDTH], axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found[0, -WIDTH:]), 0.5, atol=1e-5)
    assert 0 < np.linalg.norm(found[1, -WIDTH:]) < 0.05


def test_words_weigh_as_in_bm25(lexical_encoder, tiny_encoder):
    weight = lexical_encoder.model.lexical.weight.detach().numpy()
    number = tiny_encoder.tokenizer.token_to_id
    # "laser" stands in 30 of 128 texts: 14 with it first, 14 second, 2 twice
    assert weight[number("laser")] == pytest.approx(np.log(1 + 98.5 / 30.5), abs=1e-5)
    assert weight[number("the")] == pytest.approx(np.log(1 + 0.5 / 128.5), abs=1e-5)
    assert weight[number("galaxy")] == pytest.approx(np.log(1 + 128.5 / 0.5), abs=1e-4)
    assert weight[number("[CLS]")] == weight[number("[PAD]")] == 0


@pytest.mark.parametrize("method", ["prism", "adapters", "control-codes"])
def test_methods_grow_from_it(lexical_encoder, method, tmp_path):
    lexical_encoder.save(tmp_path / "model")
    grown = perturb_weights(build_encoder(tmp_path / "model", method, pooling=None))
    every = grown.encode_all(OTHERS)
    for format in FORMATS:
        np.testing.assert_allclose(every[format], grown.encode(OTHERS, format=format), atol=1e-5)
    lexical = {format: rows[:3, -WIDTH:] for format, rows in every.items()}
    if method != "control-codes":  # whose places are words too
        for format in FORMATS:
            np.testing.assert_allclose(lexical[format], lexical["search"], atol=1e-5)
    grown.save(tmp_path / "grown")
    again = Encoder.load(tmp_path / "grown", device="cpu").encode(OTHERS, format="search")
    np.testing.assert_allclose(again, every["search"], atol=1e-5)


def test_a_smaller_model_copies_it(lexical_encoder, tiny_encoder, tmp_path):
    lexical_encoder.save(tmp_path / "model")
    config = lexical_encoder.model.config
    shape = {name: getattr(config, name) for name in ("hidden", "heads", "intermediate", "positions", "types")}
    shape |= {"layers": 1, "norm_eps": config.norm_eps, "lexical": WIDTH}

    def initializer(model, tokenizer):
        copy_weights(model, tokenizer, lexical_encoder, [2])

    small = create_encoder(shape, tmp_path / "model", initializer=initializer, device="cpu")
    found, whole = small.encode(OTHERS), lexical_encoder.encode(OTHERS)
    np.testing.assert_allclose(found[:, -WIDTH:], whole[:, -WIDTH:], atol=1e-5)
    with pytest.raises(InputError, match=r"lexical is 4; .* has 8"):
        create_encoder(shape | {"lexical": 4}, tmp_path / "model", initializer=initializer, device="cpu")
    with pytest.raises(InputError, match="below 32"):
        create_encoder(shape | {"lexical": 32}, tmp_path / "model", device="cpu")


@pytest.mark.parametrize(
    ("texts", "changes", "message"),
    [
        (TEXTS[:10], {}, "10 texts are too few"),
        (TEXTS, {"width": 32}, "width is 32; it must be from 1 to 31"),
        (TEXTS, {"width": 0}, "width is 0; it must be from 1 to 31"),
        (TEXTS, {"share": 0.0}, "share is 0.0, not a finite number above 0"),
    ],
)
def test_what_cannot_be_is_refused(tiny_encoder, texts, changes, message):
    with pytest.raises(InputError, match=message):
        add_lexical_features(tiny_encoder, texts, **({"width": WIDTH} | changes))

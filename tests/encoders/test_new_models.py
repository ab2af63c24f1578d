"""New models: random, or with another model's embeddings and layers."""

from functools import partial

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from sciprism import Encoder
from sciprism.encoders.new_models import copy_weights, create_encoder
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary

SHAPE = {"layers": 2, "hidden": 32, "heads": 4, "intermediate": 64, "positions": 66}
TEXTS = ["light of the star", "the gene of the cell", "memory of the mouse", "galaxy star planet"] * 5


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    save_vocabulary(learn_vocabulary(TEXTS, vocab_size=300), folder)
    return folder


def test_a_new_model_is_roberta_over_its_vocabulary(vocabulary, tmp_path):
    encoder = create_encoder(SHAPE, vocabulary, pooling="cls", seed=3)
    config = encoder.model.config
    assert (config.padding_id, config.first_position) == (1, 2)
    assert config.vocabulary == Tokenizer.from_file(str(vocabulary / "tokenizer.json")).get_vocab_size()
    assert encoder.settings.max_length == 64
    assert encoder.encode(TEXTS).shape == (20, 32)
    encoder.save(tmp_path / "model")
    again = Encoder.load(tmp_path / "model")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_other_words_get_the_mean_of_their_parts(vocabulary, tiny_encoder):
    other, config = tiny_encoder, tiny_encoder.model.config
    shape = SHAPE | {"layers": 1, "heads": config.heads, "intermediate": config.intermediate}
    encoder = create_encoder(shape, vocabulary, initializer=partial(copy_weights, other=other, layers=[config.layers]))
    table, given = encoder.model.embeddings.word.weight, other.model.embeddings.word.weight
    ours = encoder.tokenizer.get_vocab()
    parts = other.tokenizer.encode("galaxy", add_special_tokens=False).ids
    torch.testing.assert_close(table[ours["Ġstar"]], given[other.tokenizer.token_to_id("star")])
    torch.testing.assert_close(table[ours["<mask>"]], given[other.tokenizer.token_to_id("[MASK]")])
    whole = [number for token, number in ours.items() if token == "galaxy"]
    assert not whole or torch.allclose(table[whole[0]], given[parts].mean(dim=0))
    own = encoder.model.blocks[0].attention.query.weight
    assert torch.equal(own, other.model.blocks[config.layers - 1].attention.query.weight)
    assert torch.equal(encoder.model.embeddings.position.weight[2:10], other.model.embeddings.position.weight[:8])


def test_layers_that_are_narrower_inside_keep_the_strongest_units(tiny_model):
    """Of units whose weights out are zero but for some, these are kept: the layer computes the same."""
    other = Encoder.load(tiny_model, pooling="mean", device="cpu")
    config = other.model.config
    kept = torch.arange(1, config.intermediate, 4)
    gone = torch.ones(config.intermediate, dtype=torch.bool)
    gone[kept] = False
    with torch.no_grad():
        for block in other.model.blocks:
            block.feed_forward.contract.weight[:, gone] = 0
    other.prepare()
    shape = {key: getattr(config, key) for key in (*SHAPE, "types", "norm_eps")} | {"intermediate": len(kept)}
    initializer = partial(copy_weights, other=other, layers=range(1, config.layers + 1))
    encoder = create_encoder(shape, tiny_model, initializer=initializer)
    np.testing.assert_allclose(encoder.encode(TEXTS), other.encode(TEXTS), atol=1e-5)

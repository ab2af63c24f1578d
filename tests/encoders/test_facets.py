"""Facets: maps and their sum by hand, both starts, one by one."""

from dataclasses import replace
from shutil import copytree

import numpy as np
import pytest
import torch

from build_methods import build_encoder, perturb_weights
from sciprism.encoders.methods.facets import FacetMaps
from sciprism.encoders.packing import pack
from sciprism.errors import InputError

TEXTS = ["dark matter in a galaxy", "", "the gene and the brain"]


def facets(folder, **options):
    return build_encoder(folder, "facets", options=options, pooling="facets")


def build_maps(weight, **settings):
    maps = FacetMaps(2, 2, **({"reparameterise": False, "around": 0.0, "tanh": False} | settings))
    with torch.no_grad():
        maps.weight.copy_(torch.tensor(weight))
        maps.bias.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    return maps


WEIGHT = [[[2.0, 0.0], [0.0, 2.0]], [[0.0, 4.0], [0.0, 0.0]]]
STATES = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_maps_by_hand():
    """The first state is doubled, the second turned; the third is no facet and stays."""
    found = build_maps(WEIGHT)(STATES, pack([[1, 2, 3]]))
    assert found.tolist() == [[3.0, 4.0], [16.0, 2.0], [5.0, 6.0]]


def test_the_mean_of_the_maps_is_taken_away():
    """The mean is [[1, 2], [0, 1]]; what is left is [[1, -2], [0, 1]] and [[-1, 2], [0, -1]]."""
    found = build_maps(WEIGHT, reparameterise=True)(STATES, pack([[1, 2, 3]]))
    assert found.tolist() == [[1 - 4 + 1.0, 2.0], [-3 + 8.0, -4 + 2.0], [5.0, 6.0]]
    found = build_maps(WEIGHT, reparameterise=True, around=1.0)(STATES, pack([[1, 2, 3]]))
    assert found.tolist() == [[-2 + 1.0, 2 + 2.0], [5 + 3.0, -2 + 4.0], [5.0, 6.0]]


def test_the_vector_is_the_sum_of_the_facets(tiny_model):
    encoder = perturb_weights(facets(tiny_model))
    each = encoder.encode(TEXTS, facets=True)
    assert each.shape == (3, 3, encoder.dim)
    assert np.abs(each.sum(axis=1) - encoder.encode(TEXTS)).max() < 1e-5
    encoder.settings = replace(encoder.settings, normalize=True)
    assert np.array_equal(encoder.encode(TEXTS, facets=True), each)
    unit = each.sum(axis=1) / np.linalg.norm(each.sum(axis=1), axis=1, keepdims=True)
    assert np.abs(encoder.encode(TEXTS) - unit).max() < 1e-5
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


@pytest.mark.parametrize(
    "options, message",
    [
        ({"facets": 0}, "facets: Input should be greater than or equal to 1, got 0"),
        ({"after": [3]}, "maps after block 3: the model has only 2"),
        ({"after": [0]}, r"after\.0: Input should be greater than or equal to 1, got 0"),
        ({"start": "zero"}, "start: Input should be 'published' or 'kept', got 'zero'"),
        ({"tanh": "False"}, "tanh: Input should be a valid boolean, got 'False'"),
    ],
)
def test_wrong_options(options, message, tiny_model):
    with pytest.raises(InputError, match=message):
        facets(tiny_model, **options)

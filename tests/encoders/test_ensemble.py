"""Ensembles: vectors computed by hand, and encoders that cannot be joined."""

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from build_models import reference, write
from sciprism import Encoder, Paper
from sciprism.encoders.ensemble import Ensemble
from sciprism.errors import InputError

TEXTS = ["dark matter", "", "the gene and the brain " * 9, "light"]
PAPERS = [Paper(id="1", title="Dark matter", abstract="Galaxies turn."), Paper(id="2", title="Light")]


@pytest.fixture
def codes(tiny_model):
    return perturb_weights(build_encoder(tiny_model, "control-codes"), seed=1)


@pytest.fixture
def adapters(tiny_model):
    template = {"separator": " ", "prompts": {"query": "q: "}}
    return perturb_weights(build_encoder(tiny_model, "adapters", template=template))


def test_the_mean_and_the_concatenation_by_hand(codes, adapters):
    mean, concat = (Ensemble([codes, adapters], join=join) for join in ("mean", "concat"))
    a, b, found, both = (each.encode(PAPERS, format="search", role="query") for each in (codes, adapters, mean, concat))
    assert np.abs(found - (a + b) / 2).max() < 1e-6
    assert np.array_equal(both, np.hstack([a, b]))
    assert (mean.dim, concat.dim) == (32, 64)


def test_spaces_and_paths_are_told_apart_where_a_member_does(codes, adapters, tiny_encoder):
    both = Ensemble([tiny_encoder, adapters])
    assert both.space("search", "query") == both.space("proximity", "paper") != both.space("regression", "paper")
    assert both.path("search", "query") != both.path("search", "paper") == both.path("proximity", "paper")
    assert Ensemble([codes, adapters]).space() == "proximity"


def test_formats_are_those_that_all_have(tiny_model, codes):
    narrow = build_encoder(tiny_model, "adapters", options={"formats": ["search", "classification"]})
    both = Ensemble([codes, narrow])
    assert both.formats == ("classification", "search")
    with pytest.raises(InputError, match="a member lacks the format 'regression'; all have classification, search"):
        both.encode(TEXTS, format="regression")
    other = build_encoder(tiny_model, "adapters", options={"formats": ["regression"]})
    with pytest.raises(InputError, match=r"the members share no format: .* classification, search; .* regression"):
        Ensemble([narrow, other])


def test_what_cannot_be_joined(codes, adapters, tiny_model, tmp_path, wordpiece_folder):
    folder = write(tmp_path / "wide", reference(hidden_size=48), wordpiece_folder)
    wide = Encoder.load(folder, pooling="mean", device="cpu")
    with pytest.raises(InputError, match=r"a mean needs one width: .* 32; .* 48; use concat"):
        Ensemble([codes, wide])
    assert Ensemble([codes, wide], join="concat").encode(TEXTS).shape == (4, 80)
    far = build_encoder(tiny_model, "single", distance="euclidean")
    with pytest.raises(InputError, match=r"the members have different distances: .* cosine; .* euclidean"):
        Ensemble([codes, far])
    with pytest.raises(InputError, match="needs at least two encoders"):
        Ensemble([codes])
    with pytest.raises(InputError, match="two of the encoders are the same"):
        Ensemble([codes, adapters, codes])
    with pytest.raises(InputError, match="unknown ensemble 'sum'; known: concat, mean"):
        Ensemble([codes, adapters], join="sum")

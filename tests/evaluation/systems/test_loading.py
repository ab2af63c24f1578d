"""What a name on a command line loads: ensembles, and what their names may not be."""

import json

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.evaluation.results import folder_name
from sciprism.evaluation.systems import EncodingInput
from sciprism.evaluation.systems.loading import RandomEncoder, SystemOptions, load_system, load_systems

TEXTS = EncodingInput(items=["dark matter", "light", ""], format="classification")


@pytest.fixture
def models(tiny_model, tmp_path, monkeypatch):
    """Two models in folders with plain names, from the folder that holds them."""
    for seed, method in enumerate(("control-codes", "adapters")):
        perturb_weights(build_encoder(tiny_model, method), seed=seed).save(tmp_path / method)
    monkeypatch.chdir(tmp_path)
    return "control-codes", "adapters"


@pytest.mark.parametrize("join", ["mean", "concat"])
def test_an_ensemble_is_named_by_its_members(join, models):
    system = load_system(f"{join}:control-codes + adapters", SystemOptions())
    assert system.name == f"{join}:control-codes+adapters"
    assert folder_name(system.name) == f"{join}-control-codes+adapters"
    rows = [Encoder.load(name).encode(TEXTS.items, format="classification") for name in models]
    expected = sum(rows) / 2 if join == "mean" else np.hstack(rows)
    for _ in range(2):  # the second time from the cache
        assert np.abs(system.encode(TEXTS) - expected).max() < 1e-5
    assert system.describe()["members"][1]["method"] == "adapters"


def test_members_may_be_of_other_libraries_and_options_reach_all(tiny_model):
    pytest.importorskip("transformers")
    options = SystemOptions(pooling="cls", seed=3)
    system = load_system(f"concat:{tiny_model}+transformers:{tiny_model}+random", options)
    assert system.name == f"concat:{tiny_model.name} (pooling cls)+{tiny_model.name}+random-3"
    one, other, _ = np.split(system.encode(TEXTS), [32, 64], axis=1)
    assert np.abs(one - other).max() < 1e-5
    assert np.abs(one - Encoder.load(tiny_model, pooling="cls").encode(TEXTS.items)).max() < 1e-5


def test_a_trained_model_is_named_by_its_recipe_and_by_who_names_it(tiny_model, tmp_path):
    encoder, run = Encoder.load(tiny_model, pooling="cls"), tmp_path / "run"
    encoder.save(run / "last" / "model", name="my-experts", stage="last", step=3)
    encoder.save(tmp_path / "copy")
    (run / "recipe.json").write_text(json.dumps({"stages": [{"name": "first"}, {"name": "last"}]}))

    def names(*models, **options):
        return [load_systems(model, SystemOptions(**options), tmp_path)[0][0].name for model in models]

    assert names(run, run / "last" / "model", tmp_path / "copy") == ["my-experts", "my-experts", "copy"]
    assert names(f"mine={run}", "other=bm25") == ["mine", "other"]
    assert load_systems(f"mine={run}", SystemOptions(dimensions=(8,)), tmp_path)[1][0].name == "mine, first 8"
    (run / "recipe.json").write_text(json.dumps({"stages": [{"name": "last"}, {"name": "next"}]}))
    with pytest.raises(InputError, match=r"run: its last stage, next, has no model yet; run `sciprism train` again"):
        Encoder.load(run)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mean:control-codes+", "the model's name is empty"),
        ("mean:control-codes+random", "a mean needs one width: control-codes 32; random 384; use concat"),
        ("mean:control-codes+bm25", "no folder bm25"),
        ("sum:control-codes+adapters", "no folder sum:control-codes"),
        ("mean:", "no folder mean:"),
    ],
)
def test_what_is_no_ensemble(name, said, models):
    with pytest.raises(InputError, match=said):
        load_system(name, SystemOptions())


def test_random_vectors_stay_the_same_from_release_to_release_and_differ_by_seed():
    """Drawn once and written down, the first three of them in proportion."""
    first, other = RandomEncoder(), RandomEncoder(seed=1)
    drawn = first.encode(["star"])[0][:3]
    assert (drawn / np.linalg.norm(drawn)).tolist() == pytest.approx([-0.060623, -0.4906583, -0.8692406], abs=1e-6)
    assert first.fingerprint != other.fingerprint and (first.name, other.name) == ("random", "random-1")
    assert first.encode([]).shape == (0, 384)
    assert other.describe()["seed"] == 1 and other.path() == other.path("search", "query")

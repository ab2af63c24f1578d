"""The released models by name, from a hub's cache: SPECTER, SciNCL, SPECTER2, SciRepEval's adapters."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants

from adapterhub import FIXTURES, KNOWN
from build_models import expected_states, reference, write
from sciprism import Encoder
from sciprism.encoders.checkpoints.released_models import (
    CLS_MODELS,
    CODES,
    INDUS_MODELS,
    PROMPTS,
)
from sciprism.errors import InputError
from sciprism.formats import FORMATS
from sciprism.papers.records import Paper

TEXTS = KNOWN["texts"]
SPECTER2 = {"classification": "_classification", "regression": "_regression", "proximity": "", "search": "_adhoc_query"}
ENDINGS = {
    "allenai/specter2": SPECTER2,
    "allenai/specter2_aug2023refresh": SPECTER2,
    "allenai/scirepeval_adapters": {format: f"_{code[1:4].lower()}" for format, code in CODES.items()},
}
NAMES = {name: {format: name + end for format, end in ends.items()} for name, ends in ENDINGS.items()}
BASES = {
    "allenai/specter2": "allenai/specter2_base",
    "allenai/specter2_aug2023refresh": "allenai/specter2_aug2023refresh_base",
    "allenai/scirepeval_adapters": "malteos/scincl",
}


@pytest.fixture(autouse=True)
def hub(tmp_path, monkeypatch, cache):
    """An empty cache of a hub's client, and an empty one of ours."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def hub_layout(model, hub, name):
    """Put a model where the hub's client keeps it: blobs, a snapshot of links to them, a ref."""
    home, revision = hub / f"models--{name.replace('/', '--')}", "0123456789" * 4
    for number, file in enumerate(path for path in sorted(Path(model).rglob("*")) if path.is_file()):
        blob, link = home / "blobs" / f"{number:040d}", home / "snapshots" / revision / file.relative_to(model)
        for path in (blob, link):
            path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, blob)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(revision)


@pytest.fixture
def family(hub):
    """A function that puts a family into the hub's cache, all of it or some routes."""

    def put(name, *routes):
        hub_layout(FIXTURES / "base", hub, BASES[name])
        for route in routes or CODES:
            hub_layout(FIXTURES / "adapters" / CODES[route], hub, NAMES[name][route])

    return put


def save_without_ours(encoder, folder):
    """Save a model as sentence-transformers would."""
    encoder.save(folder)
    for ours in ("sciprism.json", "selfcheck.json", "checksums.json"):
        (folder / ours).unlink()
    return folder


def is_close(vectors, kind, route):
    return np.abs(vectors - KNOWN[kind][CODES[route]]).max() < 1e-5


# ---- plain folders ----


@pytest.mark.parametrize("name", CLS_MODELS)
def test_a_plain_model_reads_and_compares_as_published(name, hub):
    hub_layout(FIXTURES / "base", hub, name)
    encoder = Encoder.load(name, device="cpu")
    assert encoder.settings.pooling == "cls" and encoder.distance == "euclidean"
    assert not encoder.settings.normalize and encoder.settings.method == "single"
    assert np.abs(encoder.encode(TEXTS) - KNOWN["base"]).max() < 1e-5
    papers = [Paper(id="1", title="Dark", abstract="matter"), Paper(id="2", title="Ice")]
    assert encoder.texts(papers) == ["Dark [SEP] matter", "Ice"]
    tokens = encoder.tokenizer.encode(encoder.texts(papers)[0]).tokens
    assert tokens == ["[CLS]", "dark", "[SEP]", "matter", "[SEP]"]


def test_its_name_goes_before_a_sentence_transformers_layout(hub, tmp_path):
    folder = save_without_ours(Encoder.load(FIXTURES / "base", pooling="mean", device="cpu"), tmp_path / "saved")
    assert Encoder.load(folder, device="cpu").settings.pooling == "mean"
    hub_layout(folder, hub, "malteos/scincl")
    encoder = Encoder.load("malteos/scincl", device="cpu")
    assert encoder.settings.pooling == "cls" and encoder.distance == "euclidean"
    assert np.abs(encoder.encode(TEXTS) - KNOWN["base"]).max() < 1e-5


# ---- families of adapters ----


@pytest.mark.parametrize("name", NAMES)
def test_a_familys_name_gives_all_formats(name, family):
    family(name)
    encoder = Encoder.load(name, device="cpu")
    assert encoder.name == name and encoder.formats == FORMATS and encoder.settings.method == "adapters"
    for route in CODES:
        assert is_close(encoder.encode(TEXTS, format=route, role="query"), "adapters", route)
    assert is_close(encoder.encode(TEXTS, format="search", role="paper"), "adapters", "proximity")
    facts = encoder.describe()
    assert facts["provenance"]["backbone"] == BASES[name]
    assert {route: a["from"] for route, a in facts["provenance"]["adapters"].items()} == NAMES[name]
    assert Encoder.load(NAMES[name]["regression"], device="cpu").formats == ("regression",)


def test_missing_adapters_are_named_with_what_to_do(family):
    family("allenai/specter2", "proximity", "regression")
    with pytest.raises(InputError) as caught:
        Encoder.load("allenai/specter2")
    message = str(caught.value)
    assert message.startswith("allenai/specter2: 2 of its adapters are missing: ")
    assert "allenai/specter2_classification (classification)" in message
    assert "allenai/specter2_adhoc_query (search)" in message
    assert "specter2_regression (" not in message and "load it once with a network" in message


def test_adapters_that_name_their_base_as_it_was_called(hub, tmp_path):
    hub_layout(FIXTURES / "base", hub, "allenai/specter2_base")
    folder = shutil.copytree(FIXTURES / "adapters" / "[RGN]", tmp_path / "mine")
    about = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(about | {"model_name": "allenai/specter2"}))
    encoder = Encoder.load(folder, device="cpu")
    assert is_close(encoder.encode(TEXTS, format="regression"), "adapters", "regression")


# ---- INDUS's released models by name, in the layouts that they have on the hub, tiny ----

LINES = ["Dark MATTER in galaxies", "a new law of light", "x"]


@pytest.mark.parametrize("name", INDUS_MODELS)
def test_an_encoder_is_plain_uncased_and_takes_the_mean(name, hub, tmp_path, byte_level_folder):
    model = reference("roberta")
    hub_layout(write(tmp_path / "made", model, byte_level_folder), hub, name)
    encoder = Encoder.load(name, device="cpu")
    settings = encoder.settings
    assert (settings.pooling, settings.max_length, settings.distance) == ("mean", 512, "cosine")
    assert encoder.texts([Paper(id="1", title="Dark", abstract="Matter")]) == ["dark matter"]
    with torch.no_grad():
        states = expected_states(model, [encoder.tokenizer.encode(line.lower()).ids for line in LINES])
    wanted = torch.stack([each.mean(0) for each in states]).numpy()
    assert np.abs(encoder.encode(LINES) - wanted).max() < 1e-5
    assert np.abs(encoder.encode([LINES[0].upper()]) - wanted[:1]).max() < 1e-5
    assert Encoder.load(name, pooling="cls", device="cpu").settings.pooling == "cls"
    assert np.isfinite(encoder.encode(["dark " * 3000])).all()


@pytest.mark.parametrize("name", PROMPTS)
def test_a_peer_is_asked_with_the_prompt_of_its_makers(name, hub, tmp_path, tiny_model):
    folder = save_without_ours(Encoder.load(tiny_model, pooling="cls", device="cpu"), tmp_path / "made")
    hub_layout(folder, hub, name)
    encoder = Encoder.load(name, device="cpu")
    assert encoder.texts(["dark matter"], "query") == [f"{PROMPTS[name]['query']}dark matter"]
    assert encoder.texts(["dark matter"], "paper") == [f"{PROMPTS[name].get('paper', '')}dark matter"]
    about = json.loads((folder / "config_sentence_transformers.json").read_text())
    shutil.rmtree(hub / f"models--{name.replace('/', '--')}")
    about["prompts"] = {"query": "find: ", "document": ""}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(about))
    hub_layout(folder, hub, name)
    assert Encoder.load(name, device="cpu").texts(["dark"], "query") == ["find: dark"]

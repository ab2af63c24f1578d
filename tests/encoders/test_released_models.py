"""The released models by name, from a hub's cache: SPECTER, SciNCL, SPECTER2, SciRepEval's adapters."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

from adapterhub import FIXTURES, KNOWN
from build_models import SHAPE, write
from sciprism import Encoder
from sciprism.encoders.checkpoints.released_models import (
    CLS_MODELS,
    CODES,
    INDUS_MODELS,
    PROMPTS,
    RELEASED_MODELS,
    format_in_name,
)
from sciprism.errors import InputError
from sciprism.formats import FORMATS
from sciprism.papers.records import Paper
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary

TEXTS = KNOWN["texts"]
NAMES = {
    "allenai/specter2": {
        "classification": "allenai/specter2_classification",
        "regression": "allenai/specter2_regression",
        "proximity": "allenai/specter2",
        "search": "allenai/specter2_adhoc_query",
    },
    "allenai/specter2_aug2023refresh": {
        "classification": "allenai/specter2_aug2023refresh_classification",
        "regression": "allenai/specter2_aug2023refresh_regression",
        "proximity": "allenai/specter2_aug2023refresh",
        "search": "allenai/specter2_aug2023refresh_adhoc_query",
    },
    "allenai/scirepeval_adapters": {
        "classification": "allenai/scirepeval_adapters_clf",
        "regression": "allenai/scirepeval_adapters_rgn",
        "proximity": "allenai/scirepeval_adapters_prx",
        "search": "allenai/scirepeval_adapters_qry",
    },
}
BASES = {
    "allenai/specter2": "allenai/specter2_base",
    "allenai/specter2_aug2023refresh": "allenai/specter2_aug2023refresh_base",
    "allenai/scirepeval_adapters": "malteos/scincl",
}


@pytest.fixture(autouse=True)
def hub(tmp_path, monkeypatch):
    """An empty cache of a hub's client, and an empty one of ours."""
    from huggingface_hub import constants

    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
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
    folder = tmp_path / "saved"
    Encoder.load(FIXTURES / "base", pooling="mean", device="cpu").save(folder)
    for ours in ("sciprism.json", "selfcheck.json", "checksums.json"):
        (folder / ours).unlink()
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


def test_names_say_what_they_serve():
    assert format_in_name("allenai/specter2_adhoc_query") == "search" and format_in_name("specter2") is None
    assert format_in_name("specter2", "[PRX]") == "proximity"
    for name, member in RELEASED_MODELS.items():
        assert len(member.formats) == 4 or format_in_name(name) == member.formats[0]


# ---- INDUS's released models by name, in the layouts that they have on the hub, tiny ----

ENDLESS = 1000000000000000019884624838656  # what `transformers` writes for "no maximum length"
LINES = ["Dark MATTER in galaxies", "a new law of light", "x"]


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory):
    """An uncased byte-level vocabulary with the fast tokenizer's file, as the released folders have it."""
    folder = tmp_path_factory.mktemp("indus-tokenizer")
    save_vocabulary(learn_vocabulary(["dark matter in galaxies, a new law of light"] * 3, vocab_size=300), folder)
    about = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, "model_max_length": ENDLESS}
    specials = {f"{name}_token": mark for name, mark in (("cls", "<s>"), ("sep", "</s>"), ("pad", "<pad>"))}
    (folder / "tokenizer_config.json").write_text(json.dumps(about | specials))
    return folder


def roberta(kind, vocabulary=300, **changes):
    config = RobertaConfig(**SHAPE | {"vocab_size": vocabulary, "max_position_embeddings": 514} | changes)
    torch.manual_seed(3)
    model = kind(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    return model.eval()


def expected(model, encoder, texts, pooling):
    """The reference library's vectors of texts that are lower-cased by hand, one at a time."""
    rows = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([encoder.tokenizer.encode(text.lower()).ids])
            states = model(input_ids=ids).last_hidden_state[0]
            rows.append((states[0] if pooling == "cls" else states.mean(0)).numpy())
    return np.stack(rows)


@pytest.mark.parametrize("name", INDUS_MODELS)
def test_an_encoder_is_plain_and_takes_the_mean(name, hub, tmp_path, tokenizer_folder):
    model = roberta(RobertaForMaskedLM)
    folder = write(tmp_path / "made", model, tokenizer_folder)
    hub_layout(folder, hub, name)
    encoder = Encoder.load(name, device="cpu")
    settings = encoder.settings
    assert (settings.pooling, settings.max_length, settings.distance) == ("mean", 512, "cosine")
    assert encoder.texts([Paper(id="1", title="Dark", abstract="Matter")]) == ["dark matter"]
    wanted = expected(model.roberta, encoder, LINES, "mean")
    assert np.abs(encoder.encode(LINES) - wanted).max() < 1e-5
    assert np.abs(encoder.encode([LINES[0].upper()]) - wanted[:1]).max() < 1e-5
    assert Encoder.load(name, pooling="cls", device="cpu").settings.pooling == "cls"
    long = encoder.encode(["dark " * 3000])
    assert np.isfinite(long).all()


@pytest.mark.parametrize("name", PROMPTS)
def test_a_peer_is_asked_with_the_prompt_of_its_makers(name, hub, tmp_path, tiny_model):
    folder = tmp_path / "made"
    Encoder.load(tiny_model, pooling="cls", device="cpu").save(folder)
    for ours in ("sciprism.json", "selfcheck.json", "checksums.json"):
        (folder / ours).unlink()
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

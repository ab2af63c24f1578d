"""The released models by name, from a hub's cache: SPECTER, SciNCL, SPECTER2, SciRepEval's adapters."""

import json
import shutil

import numpy as np
import pytest

from adapterhub import FIXTURES, KNOWN
from hub_files import hub_layout, hub_layout_with_folders
from sciprism import Encoder
from sciprism.encoders.checkpoints.released_models import CLS_MODELS, CODES, RELEASED_MODELS, format_in_name
from sciprism.errors import InputError
from sciprism.formats import FORMATS
from sciprism.papers.records import Paper

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
    hub_layout_with_folders(folder, hub, "malteos/scincl")
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
    assert (
        format_in_name("[QRY]")
        == format_in_name("adhoc_query")
        == format_in_name("allenai/specter2_adhoc_query")
        == "search"
    )
    assert format_in_name("specter2", "[PRX]") == "proximity" and format_in_name("specter2") is None
    for name, member in RELEASED_MODELS.items():
        assert len(member.formats) == 4 or format_in_name(name) == member.formats[0]

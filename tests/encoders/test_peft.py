"""Folders of peft with an update for each format: what peft computes, what we write, and what is refused."""

import json
import shutil

import pytest
import torch
from sentence_transformers import SentenceTransformer

from build_methods import build_encoder, max_difference, perturb_weights
from sciprism import Encoder
from sciprism.encoders.checkpoints.backbone import read_tensors
from sciprism.encoders.export import export
from sciprism.encoders.layers import pack
from sciprism.errors import InputError
from sciprism.files import write_tensors

peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")
TEXTS = ["dark matter in our galaxy", "", "the gene and the brain " * 9]
CLOSE = 1e-5
pytestmark = pytest.mark.usefixtures("cache")
SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
ALL = {"options": {"targets": ["query", "key", "value", "output", "expand", "contract"], "rank": 3, "alpha": 5}}


@pytest.fixture
def encoder(tiny_model):
    return perturb_weights(build_encoder(tiny_model, "lora", **ALL))


@pytest.fixture
def written(encoder, tmp_path):
    assert export(encoder, tmp_path / "written", peft=True) == "peft"
    return tmp_path / "written"


def test_what_is_written_opens_in_sentence_transformers_and_here(encoder, written, monkeypatch):
    again = Encoder.load(written, device="cpu")
    assert again.settings.method == "lora" and again.formats == encoder.formats
    monkeypatch.chdir(written)
    for format in encoder.formats:
        expected = encoder.encode(TEXTS, format=format, role="query")
        assert max_difference(expected, again.encode(TEXTS, format=format, role="query")) < CLOSE
        model = SentenceTransformer("base", device="cpu")
        model.load_adapter(f"adapters/{format}")
        assert max_difference(expected, model.encode(TEXTS)) < CLOSE


def test_one_format_alone_is_merged_or_written(encoder, tmp_path):
    export(encoder, tmp_path / "part", format="search", peft=True)
    assert sorted(path.name for path in (tmp_path / "part" / "adapters").iterdir()) == ["proximity", "search"]
    assert export(encoder, tmp_path / "plain", format="regression") == "plain"
    vectors = SentenceTransformer(str(tmp_path / "plain"), device="cpu").encode(TEXTS)
    assert max_difference(encoder.encode(TEXTS, format="regression"), vectors) < CLOSE


SHAPES = {
    "classification": {"r": 2, "lora_alpha": 3, "target_modules": ["query", "value"]},
    "regression": {"r": 4, "lora_alpha": 2, "target_modules": "all-linear", "use_rslora": True},
    "proximity": {"r": 2, "lora_alpha": 1, "target_modules": ["key", "dense"], "rank_pattern": {"key": 5}},
    "search": {"r": 3, "target_modules": ["value"], "layers_to_transform": [1], "lora_dropout": 0.1},
}


def test_formats_of_other_ranks_factors_targets_and_layers_become_one_model(tiny_model, tmp_path):
    Encoder.load(tiny_model, pooling="mean", device="cpu").save(tmp_path / "m" / "base")
    expected = {}
    ids = torch.tensor([[2, 7, 9, 5, 3]])
    for seed, (format, shape) in enumerate(SHAPES.items()):
        torch.manual_seed(seed)
        base = transformers.AutoModel.from_pretrained(tmp_path / "m" / "base")
        model = peft.get_peft_model(base, peft.LoraConfig(**shape, init_lora_weights=False)).eval()
        model.save_pretrained(tmp_path / "m" / "adapters" / format)
        with torch.no_grad():
            expected[format] = model(input_ids=ids).last_hidden_state[0]
    encoder = Encoder.load(tmp_path / "m", device="cpu")
    assert encoder.settings.options["rank"] == 5
    formats = sorted(SHAPES)
    with torch.no_grad():
        states = encoder.model(pack(ids.tolist() * len(formats), formats)).view(len(formats), 5, -1)
    for format, found in zip(formats, states, strict=True):
        assert (found - expected[format]).abs().max() < CLOSE, format


def test_a_folder_of_sentence_transformers_with_an_adapter(tiny_model, tmp_path):
    """It states its pooling and its prompts; its base states none."""
    Encoder.load(tiny_model, pooling="cls", device="cpu").save(tmp_path / "started")
    model = SentenceTransformer(str(tmp_path / "started"), device="cpu")
    model.add_adapter(peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False))
    model.save(str(tmp_path / "proximity"))
    shutil.copytree(tiny_model, tmp_path / "base")
    encoder = Encoder.load(tmp_path / "proximity", device="cpu")
    assert encoder.settings.pooling == "cls" and encoder.formats == ("proximity",)
    assert max_difference(encoder.encode(TEXTS), model.encode(TEXTS)) < CLOSE


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("use_dora", True, "use_dora is True; .* all formats share it"),
        ("bias", "all", "bias is 'all'; .* all formats share it"),
        ("peft_type", "IA3", "peft_type is 'IA3'; .* all formats share it"),
        ("r", 0, "r is 0"),
        ("lora_alpha", None, "or lora_dropout is not a number"),
    ],
)
def test_another_computation_is_refused(key, value, reason, written):
    path = written / "adapters" / "proximity" / SETTINGS
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(InputError, match=rf"adapters/proximity/adapter_config.json: .*{reason}"):
        Encoder.load(written)


UP = "base_model.model.encoder.layer.1.output.dense.lora_B.weight"
DAMAGED = {
    "half an update": (lambda n, w: {} if n == UP else {n: w}, "A and B of encoder.layer.1.output.dense do not belong"),
    "a layer too much": (lambda n, w: {n.replace("layer.1", "layer.2"): w}, "layer.2.* is unknown here"),
    "embeddings": (lambda n, w: {n: w, "base_model.model.embeddings.word.lora_A": w.clone()}, "lora_A is unknown here"),
    "another width": (lambda n, w: {n: w[:, :-1].clone() if "self.query.lora_A" in n else w}, "has the shape"),
    "a head alone": (lambda n, w: {"classifier.weight": w}, "holds no update of the encoder's maps"),
}


@pytest.mark.parametrize(("rename", "message"), DAMAGED.values(), ids=DAMAGED)
def test_weights_that_are_not_those_of_the_base_are_refused(rename, message, written):
    path, weights = written / "adapters" / "proximity" / WEIGHTS, {}
    for name, tensor in read_tensors(path).items():
        weights |= rename(name, tensor)
    write_tensors(path, weights, {})
    with pytest.raises(InputError, match=message):
        Encoder.load(written)


def test_wrong_requests(written, tiny_model, tmp_path):
    adapters = build_encoder(tiny_model, "adapters")
    with pytest.raises(InputError, match=r"peft's layout is of the method lora over a plain .* is of adapters"):
        export(adapters, tmp_path / "out", peft=True)
    with pytest.raises(InputError, match="int8 weights and peft's layout are two kinds"):
        export(adapters, tmp_path / "out", peft=True, compact=True)
    (written / "adapters" / "proximity").rename(written / "adapters" / "mine")
    with pytest.raises(InputError, match="the folder is called mine; name it by what it serves"):
        Encoder.load(written)
    for name in ("mine", "search"):
        shutil.rmtree(written / "adapters" / name)
    shutil.rmtree(written / "base")
    shutil.copytree(tiny_model, written / "base")
    with pytest.raises(InputError, match=r"a base states its pooling: sciprism export base -o base --pooling mean"):
        Encoder.load(written)

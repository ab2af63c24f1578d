"""SciRepEval's PALs: what a dense computation of its own gives with the same numbers."""

import json
import math
import re
import shutil

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file
from torch.nn import functional as F

from build_models import expected_states, reference
from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.text.tokenizer import read_tokenizer

NUMBERS = {"classification": 0, "proximity": 1, "search": 2, "regression": 3}  # [CLF], [PRX], [QRY], [RGN]
LAYERS, HIDDEN, SMALL, HEADS = 2, 32, 12, 6
pytestmark = pytest.mark.usefixtures("cache")
TEXTS = ["dark matter [SEP] the field of a star", "", "gene " * 700, "light and ice"]


def pal_weights():
    """The PALs' tensors under the published names, a projection under each of its names."""
    generator = torch.Generator().manual_seed(5)

    def linear(name, inputs, outputs):
        drawn = 0.3 * torch.randn(outputs, inputs + 1, generator=generator)
        return {f"{name}.weight": drawn[:, 1:].clone(), f"{name}.bias": drawn[:, 0].clone()}

    weights = {}
    for n in NUMBERS.values():
        down = linear(f"encoder.mult_aug_dense.{n}", HIDDEN, SMALL)
        up = linear(f"encoder.mult_aug_dense2.{n}", SMALL, HIDDEN)
        weights |= down | up
        for layer in range(LAYERS):
            place = f"encoder.layer.{layer}.multi_layers.{n}"
            for part in ("query", "key", "value"):
                weights |= linear(f"{place}.attn.{part}", SMALL, SMALL)
            for name, tensor in (down | up).items():
                again = re.sub(r"encoder\.mult_(aug_dense2?)\.\d", rf"{place}.\1", name)
                weights[again] = tensor
    return weights


@pytest.fixture(scope="module")
def published(tmp_path_factory, wordpiece_folder):
    """A BERT, its PALs, and the folder that holds both as SciRepEval's training saves them."""
    folder = tmp_path_factory.mktemp("scirepeval_pals")
    words = len((wordpiece_folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    model = reference(vocabulary=words)
    weights = dict(model.state_dict()) | pal_weights()
    torch.save(weights, folder / "pytorch_model.bin")
    config = {key: value for key, value in model.config.to_dict().items() if key != "model_type"}
    config |= {"hidden_size_aug": SMALL, "pals": True, "mult": True, "num_tasks": 4, "houlsby": False}
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copy(wordpiece_folder / "vocab.txt", folder)
    return model, weights, folder


@pytest.fixture
def copy(published, tmp_path):
    return shutil.copytree(published[2], tmp_path / "copy")


def dense(model, weights, ids, number):
    """The last hidden state at CLS of one text, head by head and without masks."""

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def pal(layer, x):
        place = f"encoder.layer.{layer}.multi_layers.{number}.attn"
        x = linear(f"encoder.mult_aug_dense.{number}", x)
        query, key, value = (linear(f"{place}.{part}", x) for part in ("query", "key", "value"))
        width, mixed = SMALL // HEADS, []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            scores = query[:, part] @ key[:, part].T / math.sqrt(width)
            mixed.append(scores.softmax(-1) @ value[:, part])
        x = linear(f"encoder.mult_aug_dense2.{number}", torch.cat(mixed, -1))
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    x = model.embeddings(torch.tensor([ids]))
    for number_of_layer, layer in enumerate(model.encoder.layer):
        attended = layer.attention(x)[0]
        expanded = layer.output.dense(layer.intermediate(attended))
        total = expanded + attended + pal(number_of_layer, x[0])
        norm = layer.output.LayerNorm
        x = F.layer_norm(total, (HIDDEN,), norm.weight, norm.bias, 1e-12)
    return x[0, 0]


def expected(published, format):
    model, weights, folder = published
    tokenizer, _ = read_tokenizer(folder)
    tokenizer.enable_truncation(512)
    with torch.no_grad():
        rows = [dense(model, weights, tokenizer.encode(t).ids, NUMBERS[format]) for t in TEXTS]
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("format", NUMBERS)
def test_vectors_are_those_of_a_dense_computation(format, published):
    encoder = Encoder.load(published[2], device="cpu")
    assert encoder.settings.method == "pals" and encoder.settings.pooling == "cls"
    assert encoder.settings.options["size"] == SMALL and encoder.settings.options["heads"] == HEADS
    assert encoder.distance == "euclidean" and encoder.settings.template.separator == " [SEP] "
    ours = encoder.encode(TEXTS, format=format, role="query")
    assert np.abs(ours - expected(published, format)).max() < 1e-5


@pytest.mark.parametrize("kept", ["aug_dense", "mult_aug_dense"])
def test_a_projection_may_have_one_of_its_names(kept, published, copy):
    """Safetensors files keep one name of tensors that are shared."""
    other = r"layer\.[01]\.multi_layers\.\d\.aug_dense" if kept == "mult_aug_dense" else r"\.mult_aug_dense"
    spare = r"layer\.0\.multi_layers\.\d\.aug_dense" if kept == "aug_dense" else "nothing"
    path = copy / "pytorch_model.bin"
    names = {n: w for n, w in torch.load(path).items() if not re.search(f"{other}|{spare}", n)}
    path.unlink()
    save_file(names, copy / "model.safetensors")
    whole = Encoder.load(published[2], device="cpu")
    assert Encoder.load(copy, device="cpu").fingerprint == whole.fingerprint


def without(pattern):
    return lambda weights: {name: tensor for name, tensor in weights.items() if not re.search(pattern, name)}


SHARED = "encoder.layer.1.multi_layers.2.aug_dense.weight"
REFUSED = {
    "a projection is missing": (
        without(r"mult_aug_dense2\.1\.bias|multi_layers\.1\.aug_dense2\.bias"),
        "1 weights are missing, the first is encoder.mult_aug_dense2.1.bias",
    ),
    "projections that are not shared": (lambda w: w | {SHARED: w[SHARED] + 1}, f"{SHARED} differs from encoder"),
    "three codes": (
        without(r"(multi_layers|mult_aug_dense2?)\.3\."),
        r"PALs for 3 codes; known: 4, for \[CLF\], \[PRX\], \[QRY\], \[RGN\]",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(change, message, copy, cache):
    path = copy / "pytorch_model.bin"
    torch.save(change(torch.load(path)), path)
    with pytest.raises(InputError, match=message):
        Encoder.load(copy)
    assert not list((cache / "converted").iterdir()), "nothing half-made stays"


@pytest.mark.parametrize("key, value", [("pals", False), ("houlsby", True)])
def test_other_settings_are_refused(key, value, copy):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(InputError, match=f"config.json: {key} is {value}"):
        Encoder.load(copy)


# ---- SciRepEval's control-code models: the reference library's state at position 1 of `CODE text` ----

CODES = {"classification": "[CLF]", "regression": "[RGN]", "proximity": "[PRX]", "search": "[QRY]"}
ADDED = sorted(CODES.values())
PAPERS = [
    Paper(id="1", title="Dark matter in GALAXY light", abstract="The gravity field of a star [PRX] [CLF]."),
    Paper(id="2", title="Gene evolution", abstract="A new method." + " A new method." * 199),
    Paper(id="3", title="Ice"),
    Paper(id="4"),
]
PUBLISHED = [f"{p.title} [SEP] {p.abstract}".strip() for p in PAPERS[:2]] + ["Ice", ""]


@pytest.fixture(scope="module")
def published_codes(tmp_path_factory, wordpiece_folder):
    """A BERT whose embeddings grew by four codes, and its folder as training and its library leave it."""
    folder = tmp_path_factory.mktemp("scirepeval_ctrl")
    plain = transformers.BertTokenizer.from_pretrained(wordpiece_folder, do_lower_case=True)
    plain.add_special_tokens({"additional_special_tokens": ADDED})
    model = reference(vocabulary=len(plain))
    model.save_pretrained(folder)
    plain.save_pretrained(folder)
    return model, folder


def expected_at_code(published_codes, code):
    """The reference library on its own tokenizer's ids of `CODE text`, at position 1."""
    model, folder = published_codes
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [f"{code} {text}".strip() for text in PUBLISHED]
    ids = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in texts]
    assert all(row[1] == tokenizer.convert_tokens_to_ids(code) for row in ids) and len(ids[1]) == 512
    with torch.no_grad():
        return torch.stack([states[1] for states in expected_states(model, ids)]).numpy()


@pytest.mark.parametrize("format", CODES)
def test_vectors_are_the_states_at_the_code(format, published_codes):
    encoder = Encoder.load(published_codes[1], device="cpu")
    assert encoder.settings.method == "control-codes" and encoder.settings.pooling == "code"
    assert encoder.distance == "euclidean" and encoder.settings.template.separator == " [SEP] "
    ours = encoder.encode(PAPERS, format=format, role="query")
    assert np.abs(ours - expected_at_code(published_codes, CODES[format])).max() < 1e-5


def test_codes_that_are_named_and_not_known_are_refused(published_codes, tmp_path):
    folder = shutil.copytree(published_codes[1], tmp_path / "copy")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text(encoding="utf-8").replace("[RGN]", "[XYZ]")
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": ADDED}))
    with pytest.raises(InputError, match=r"its tokenizer does not know \[RGN\]"):
        Encoder.load(folder)

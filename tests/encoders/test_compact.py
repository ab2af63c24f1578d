"""Compact folders: a quarter of the bytes, vectors that hardly differ, and no other library's numbers."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.encoders.checkpoints.backbone import COMPACT, dequantize, write_compact
from sciprism.encoders.methods.registry import methods
from sciprism.errors import InputError

TEXTS = ["dark matter", "the gene and the brain", "a black hole in our galaxy"]


def files(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", sorted(methods))
def test_a_compact_model_of_every_method(name, tiny_model, tmp_path):
    encoder = perturb_weights(build_encoder(tiny_model, name))
    encoder.save(tmp_path / "small", compact=True, made="here")
    assert COMPACT in files(tmp_path / "small")
    assert not {"model.safetensors", "modules.json"} & files(tmp_path / "small")
    again = Encoder.load(tmp_path / "small", device="cpu")
    assert again.provenance["made"] == "here" and again.settings == encoder.settings
    for format in encoder.formats:
        given, found = encoder.encode(TEXTS, format=format), again.encode(TEXTS, format=format)
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

"""From a backbone or a saved model to an encoder of a method; saving whole or not at all."""

import pytest
import torch

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.encoders.methods.registry import methods
from sciprism.errors import InputError


def test_a_second_step_keeps_the_weights_of_the_first(tiny_model, tmp_path):
    """Adapters, then their fusion: which starts from nothing else."""
    adapters = perturb_weights(build_encoder(tiny_model, "adapters"))
    adapters.save(tmp_path / "adapters")
    fusion = Encoder.start(tmp_path / "adapters", method="adapter-fusion", device="cpu")
    weights = fusion.model.state_dict()
    for name, weight in adapters.model.state_dict().items():
        assert torch.equal(weights.pop(name), weight), name
    assert weights and all(".fusions." in name for name in weights)
    with pytest.raises(InputError, match="starts from a model of adapters or a model of its own method"):
        Encoder.start(tiny_model, method="adapter-fusion", pooling="mean", device="cpu")


def test_what_codes_begin_as(tiny_model):
    rows = {}
    for start in ("random", "cls", "noise"):
        encoder = build_encoder(tiny_model, "control-codes", options={"start": start})
        rows[start] = encoder.model.embeddings.front.rows.weight.detach()
    words = encoder.model.embeddings.word.weight.detach()
    cls = words[encoder.tokenize(["light"])[0][0]]
    assert torch.equal(rows["cls"], cls.expand(len(rows["cls"]), -1))
    assert torch.allclose(rows["noise"] - cls, rows["random"], atol=1e-6)
    assert abs(rows["random"].std().item() - 0.02) < 0.005


@pytest.mark.parametrize("method", sorted(set(methods) - {"single"}))
def test_one_method_does_not_become_another(method, tiny_model, tmp_path):
    build_encoder(tiny_model, method).save(tmp_path / "m")
    for asked in methods:
        if method not in (asked, methods[asked].starts_from):
            with pytest.raises(InputError, match=f"holds a model of the method {method}; a .* method {asked}"):
                Encoder.start(tmp_path / "m", method=asked, device="cpu")


def test_a_save_into_a_folder_of_other_things(tiny_model, tiny_encoder, tmp_path, monkeypatch):
    """They stay; only what would open the new model wrongly in other libraries goes."""
    tiny_encoder.save(tmp_path / "m")
    (tmp_path / "m" / "notes.txt").write_text("mine")
    encoder = perturb_weights(build_encoder(tiny_model, "prefix"))
    monkeypatch.chdir(tmp_path / "m")
    encoder.save(".")
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "m" / "modules.json").exists()
    assert Encoder.load(tmp_path / "m", device="cpu").fingerprint == encoder.fingerprint

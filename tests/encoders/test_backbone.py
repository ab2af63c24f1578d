"""Every public layout of weights is read, whole or not at all, and nothing in a file is executed."""

import json
import shutil

import pytest
import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import load_file, save_file

from sciprism.encoders.checkpoints.backbone import read_backbone
from sciprism.errors import InputError

WORD = "embeddings.word_embeddings.weight"
EXTRA = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids", "cls.predictions.bias")


@pytest.fixture(scope="module")
def weights(tiny_model):
    return load_file(tiny_model / "model.safetensors")


@pytest.fixture
def bare(tiny_model, tmp_path):
    """The tiny model's folder without its weights."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    (folder / "model.safetensors").unlink()
    return folder


def safe(folder, tensors):
    save_file({k: v.clone() for k, v in tensors.items()}, folder / "model.safetensors")


def pickled(folder, tensors):
    torch.save(tensors, folder / "pytorch_model.bin")


def shards(folder, tensors, safe=True):
    """Write two files and their index, as the hub's library does."""
    save_torch_state_dict(tensors, folder, max_shard_size="110KB", safe_serialization=safe)


def assert_same(model, expected):
    ours, theirs = model.state_dict(), expected.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("safe", [True, False], ids=["safetensors", "pickled"])
def test_shards(safe, bare, weights, tiny_encoder):
    shards(bare, weights, safe)
    assert len(list(bare.glob("*-of-00002.*"))) == 2
    model, ignored = read_backbone(bare)
    assert_same(model, tiny_encoder.model)
    assert ignored == ()
    assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("layout", [safe, pickled], ids=lambda f: f.__name__)
@pytest.mark.parametrize("prefix", ["", "bert.", "roberta.", "model.encoder_only."])
@pytest.mark.parametrize("norm", [("weight", "bias"), ("gamma", "beta")], ids=["today", "first releases"])
def test_prefixes_old_names_and_extra_weights(prefix, norm, layout, bare, weights, tiny_encoder):
    scale, shift = (f"LayerNorm.{name}" for name in norm)
    names = {name: name.replace("LayerNorm.weight", scale).replace("LayerNorm.bias", shift) for name in weights}
    extra = {(prefix if "cls." not in name else "") + name: torch.ones(3) for name in EXTRA}
    layout(bare, {prefix + names[name]: tensor for name, tensor in weights.items()} | extra)
    model, ignored = read_backbone(bare)
    assert_same(model, tiny_encoder.model)
    assert ignored == tuple(sorted(extra))


def broken(change):
    """A file of weights with one thing changed."""
    return lambda folder, weights: safe(folder, change(weights))


def without(name):
    return broken(lambda weights: {each: tensor for each, tensor in weights.items() if each != name})


def with_(name, tensor):
    return broken(lambda weights: weights | {name: tensor})


def truncated(layout, name):
    def write(folder, weights):
        layout(folder, weights)
        (folder / name).write_bytes((folder / name).read_bytes()[:-100])

    return write


def file(name, content):
    return lambda folder, _: (folder / name).write_bytes(content)


def index_outside(folder, weights):
    safe(folder.parent, weights)
    (folder / INDEX).write_text(json.dumps({"weight_map": {WORD: "../model.safetensors"}}))


def lost_shard(folder, weights):
    shards(folder, weights)
    (folder / "model-00002-of-00002.safetensors").unlink()


QUERY = "encoder.layer.1.attention.self.query.weight"
INDEX = "model.safetensors.index.json"
BIN = "pytorch_model.bin"
REFUSED = {
    "missing": (without(QUERY), f"1 weights are missing, the first is {QUERY}"),
    "unknown": (
        with_("encoder.layer.2.bias", torch.ones(2)),
        "1 weights of the encoder are unknown here, the first is e",
    ),
    "wrong shape": (
        with_(QUERY, torch.ones(32, 16)),
        f"{QUERY} has the shape (32, 16), config.json says (32, 32)",
    ),
    "no embedding table": (without(WORD), f"expected one {WORD} in the weights, found 0; is this a text encoder?"),
    "two towers": (
        broken(lambda w: {f"{side}.{k}": v for side in ("query", "paper") for k, v in w.items()}),
        f"expected one {WORD} in the weights, found 2",
    ),
    "integers": (broken(lambda w: {k: v.to(torch.int8) for k, v in w.items()}), "torch.int8"),
    "none": (lambda *_: None, "no weights; looked for model.safetensors and pytorch_model.bin"),
    "truncated": (truncated(safe, "model.safetensors"), "model.safetensors: damaged or not safetensors"),
    "truncated pickle": (truncated(pickled, BIN), "pytorch_model.bin: damaged"),
    "empty pickle": (file(BIN, b""), "pytorch_model.bin: the file is empty"),
    "git-lfs pointer": (file(BIN, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "a Git-LFS pointer"),
    "a list": (lambda folder, w: pickled(folder, [w[WORD]]), "holds a list, not named tensors"),
    "lost shard": (lost_shard, "the weight index names 'model-00002-of-00002.safetensors'"),
    "index outside": (index_outside, "the weight index names '../model.safetensors'"),
    "empty index": (file(INDEX, b'{"weight_map": {}}'), "names no weight files"),
}


@pytest.mark.parametrize(("spoil", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(spoil, message, bare, weights):
    spoil(bare, weights)
    with pytest.raises(InputError) as caught:
        read_backbone(bare)
    assert str(bare) in str(caught.value) and message in str(caught.value)

"""Every public layout of weights is read, whole or not at all, and nothing in a file is executed."""

import json
import shutil

import pytest
import torch
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


def old_pickled(folder, tensors):
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


def sharded(folder, tensors, write, stem, ending):
    names = sorted(tensors)
    placed = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"{stem}-{number:05d}-of-00002.{ending}"
        write({name: tensors[name].clone() for name in part}, folder / file)
        placed.update(dict.fromkeys(part, file))
    index = {"metadata": {"total_size": 1}, "weight_map": placed}
    (folder / f"{stem}.{ending}.index.json").write_text(json.dumps(index))


def safe_shards(folder, tensors):
    sharded(folder, tensors, save_file, "model", "safetensors")


def pickled_shards(folder, tensors):
    sharded(folder, tensors, torch.save, "pytorch_model", "bin")


LAYOUTS = (safe, pickled, old_pickled, safe_shards, pickled_shards)


def assert_same(model, expected):
    ours, theirs = model.state_dict(), expected.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_layouts(layout, bare, weights, tiny_encoder):
    layout(bare, weights)
    model, ignored = read_backbone(bare)
    assert_same(model, tiny_encoder.model)
    assert ignored == ()
    assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("layout", [safe, pickled], ids=lambda f: f.__name__)
@pytest.mark.parametrize("prefix", ["", "bert.", "roberta.", "model.encoder_only."])
def test_prefixes_and_extra_weights(prefix, layout, bare, weights, tiny_encoder):
    named = {prefix + name: tensor for name, tensor in weights.items()}
    extra = {(prefix if "cls." not in name else "") + name: torch.ones(3) for name in EXTRA}
    layout(bare, named | extra)
    model, ignored = read_backbone(bare)
    assert_same(model, tiny_encoder.model)
    assert ignored == tuple(sorted(extra))


def test_gamma_and_beta_of_the_first_releases(bare, weights, tiny_encoder):
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    assert sum("gamma" in name for name in old) == 5
    pickled(bare, old)
    assert_same(read_backbone(bare)[0], tiny_encoder.model)


def broken(change):
    """A file of weights with one thing changed."""
    return lambda folder, weights: safe(folder, change(dict(weights)))


def without(name):
    def change(weights):
        del weights[name]
        return weights

    return broken(change)


def with_(**tensors):
    return broken(lambda weights: weights | {k.replace("__", "."): v for k, v in tensors.items()})


def truncated(folder, weights):
    safe(folder, weights)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-100])


def truncated_pickle(folder, weights):
    pickled(folder, weights)
    whole = (folder / "pytorch_model.bin").read_bytes()
    (folder / "pytorch_model.bin").write_bytes(whole[: len(whole) // 2])


def file(name, content):
    return lambda folder, _: (folder / name).write_bytes(content)


def index_outside(folder, weights):
    safe(folder.parent, weights)
    (folder / INDEX).write_text(json.dumps({"weight_map": {WORD: "../model.safetensors"}}))


def lost_shard(folder, weights):
    safe_shards(folder, weights)
    (folder / "model-00002-of-00002.safetensors").unlink()


QUERY = "encoder.layer.1.attention.self.query.weight"
INDEX = "model.safetensors.index.json"
BIN = "pytorch_model.bin"
REFUSED = {
    "missing": (without(QUERY), f"1 weights are missing, the first is {QUERY}"),
    "a layer too many": (
        with_(encoder__layer__2__output__dense__bias=torch.ones(32)),
        "1 weights of the encoder are unknown here, the first is encoder.layer.2.output.dense.bias",
    ),
    "unknown embedding": (with_(embeddings__speaker__weight=torch.ones(2, 32)), "embeddings.speaker.weight"),
    "wrong shape": (
        with_(**{QUERY.replace(".", "__"): torch.ones(32, 16)}),
        f"{QUERY} has the shape (32, 16), config.json says (32, 32)",
    ),
    "no embedding table": (without(WORD), f"expected one {WORD} in the weights, found 0"),
    "two towers": (
        broken(lambda w: {f"{side}.{k}": v for side in ("query", "paper") for k, v in w.items()}),
        f"expected one {WORD} in the weights, found 2",
    ),
    "integers": (broken(lambda w: {k: v.to(torch.int8) for k, v in w.items()}), "torch.int8"),
    "none": (lambda *_: None, "no weights; looked for model.safetensors and pytorch_model.bin"),
    "truncated": (truncated, "model.safetensors: damaged or not safetensors"),
    "truncated pickle": (truncated_pickle, "pytorch_model.bin: damaged"),
    "empty pickle": (file(BIN, b""), "pytorch_model.bin: the file is empty"),
    "git-lfs pointer": (file(BIN, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "a Git-LFS pointer"),
    "a list": (lambda folder, w: pickled(folder, [w[WORD]]), "holds a list, not named tensors"),
    "nested": (lambda folder, w: pickled(folder, {"state_dict": w}), "found 0; is this a text encoder?"),
    "lost shard": (lost_shard, "the weight index names 'model-00002-of-00002.safetensors'"),
    "index outside": (index_outside, "the weight index names '../model.safetensors'"),
    "empty index": (file(INDEX, b'{"weight_map": {}}'), "names no weight files"),
    "index is broken": (file(INDEX, b'{"weight_map"'), "cannot be read as JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, bare, weights):
    spoil, message = REFUSED[case]
    spoil(bare, weights)
    with pytest.raises(InputError) as caught:
        read_backbone(bare)
    assert str(bare) in str(caught.value) and message in str(caught.value)

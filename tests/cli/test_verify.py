"""`sciprism verify`: each file's state, what to do, and exit status 1 where one is damaged."""

from __future__ import annotations

import json

import pytest

from build_commands import run
from build_runs import run_recipe
from build_sources import write_recipe
from damage_trials import build_collection, write_model, write_results
from sciprism.evaluation.results import pack_results
from sciprism.index import lexical
from sciprism.store import StoredCollection
from sciprism.training.recipe_file import read_recipe


@pytest.fixture
def verify(monkeypatch, capsys):
    """Return exit status, file -> state, and what standard error says."""

    def check(path):
        status, printed, error = run(monkeypatch, capsys, "verify", path, "--json")
        files = json.loads(printed)["files"] if printed else []
        return status, {each["name"]: each["state"] for each in files}, error

    return check


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_a_collection(tmp_path, verify):
    build_collection(tmp_path)
    lexical.build(StoredCollection.open(tmp_path))
    status, states, _ = verify(tmp_path)
    assert status == 0 and states["papers/000000.parquet"] == states["index/lexical/built_from.json"] == "ok"
    assert set(states.values()) == {"ok"} and (tmp_path / ".lock").exists()
    flip(tmp_path / "index" / "lexical" / "vocab.index.json")
    status, states, error = verify(tmp_path)
    assert status == 1 and states["index/lexical/vocab.index.json"] == "damaged"
    assert f"build the index again with: sciprism index {tmp_path}" in error
    (tmp_path / "papers" / "000001.parquet").unlink()
    flip(tmp_path / "vectors" / "0-near" / "000000.npy")
    status, states, error = verify(tmp_path)
    assert (states["papers/000001.parquet"], states["vectors/0-near/000000.npy"]) == ("missing", "damaged")
    assert status == 1 and "3 damaged or missing files" in error and "embed the papers again" in error
    flip(tmp_path / "manifest.json")
    assert verify(tmp_path)[:2] == (1, {"manifest.json": "damaged"})


def test_a_model_of_ours_and_one_of_others(tmp_path, tiny_model, verify):
    write_model(tmp_path / "m")
    status, states, _ = verify(tmp_path / "m")
    assert status == 0 and set(states.values()) == {"ok"} and "model.safetensors" in states
    flip(tmp_path / "m" / "tokenizer.json")
    status, states, error = verify(tmp_path / "m")
    assert status == 1 and states["tokenizer.json"] == "damaged" and "save or download the model again" in error
    status, states, _ = verify(tiny_model)
    assert status == 0 and set(states.values()) == {"without checksum"}


def test_a_run(tmp_path, tiny_model, verify):
    """The files of a finished stage are covered, its metrics too; of another one, all but the metrics."""
    recipe = read_recipe(write_recipe(tmp_path, tiny_model, steps=2, every=1))
    folder = tmp_path / "run"
    run_recipe(recipe, folder, device="cpu")
    status, states, _ = verify(folder)
    assert status == 0 and set(states.values()) == {"ok"} and (folder / ".lock").exists()
    damaged = {f"contrast/{name}" for name in ("checkpoint/optimizer.pt", "metrics.jsonl", "model/model.safetensors")}
    for name in damaged:
        flip(folder / name)
    status, states, error = verify(folder)
    assert status == 1 and {name for name, state in states.items() if state == "damaged"} == damaged
    assert "3 damaged or missing files" in error and "delete the stage's folder and train it again" in error
    assert verify(folder / "contrast")[0] == 1
    (folder / "contrast" / "checksums.json").unlink()  # as while it is trained
    assert verify(folder)[1]["contrast/metrics.jsonl"] == "without checksum"


def test_results_and_packed_results(tmp_path, verify):
    write_results(tmp_path / "out")
    assert verify(tmp_path / "out")[0] == 0
    pack_results(tmp_path / "out", tmp_path / "packed")
    assert verify(tmp_path / "packed")[1] == {"open.results.jsonl.gz": "ok", "open.items.parquet": "ok"}
    flip(tmp_path / "out" / "model" / "open" / "animals.json")
    flip(tmp_path / "packed" / "open.items.parquet")
    assert verify(tmp_path / "out")[1]["model/open/animals.json"] == "damaged"
    status, states, error = verify(tmp_path / "packed")
    assert status == 1 and states["open.items.parquet"] == "damaged" and "evaluate these tasks again" in error
    (tmp_path / "packed" / "open.results.jsonl.gz").write_text("{")
    assert verify(tmp_path / "packed")[0] == verify(tmp_path / "packed" / "open.results.jsonl.gz")[0] == 1

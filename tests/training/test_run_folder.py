"""The folder of a run: its checkpoints, and the facts that a resumed run compares."""

import json

import pytest
import torch

from sciprism.errors import InputError
from sciprism.training.run_folder import Checkpoint, RunFolder, StageFolder

FACTS = {
    "versions": {"torch": "2"},
    "processes": 1,
    "test_papers": {"one/search": 0},
    "finished_models": {"model": {"model.safetensors": "abc"}},
    "sources": {"one/search": {"examples": 3, "dropped": 1, "sha256": "def"}},
}
RECIPE = {"name": "made"}


def test_a_checkpoint_is_read_as_written(tmp_path):
    stage = StageFolder(tmp_path)
    optimizer = {"optimizer": {"lr": 0.5}, "scaler": {}}
    stage.save(Checkpoint(3, {"w": torch.ones(2)}, optimizer, {"state": {"best": 0.5}}))
    folder = tmp_path / "checkpoint"
    written = {"optimizer.pt", "state.json", "weights.safetensors"}
    assert {path.name for path in folder.iterdir()} == written | {"checksums.json"}
    assert stage.load().optimizer == optimizer
    found, wrong = stage.recover()
    assert (found.step, found.optimizer, found.state["state"], wrong) == (3, optimizer, {"best": 0.5}, "")


def test_changed_facts_are_named_and_changed_sources_refused(tmp_path):
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    (tmp_path / "run.json").write_text(json.dumps(FACTS))
    assert RunFolder(tmp_path, RECIPE, FACTS).compare() == []
    assert RunFolder(tmp_path, RECIPE, FACTS | {"finished_models": {}}).compare() == ["finished_models.model"]
    changed = {"one/search": FACTS["sources"]["one/search"] | {"dropped": 2}}
    with pytest.raises(InputError, match=r"sources.one/search.dropped has changed since it began"):
        RunFolder(tmp_path, RECIPE, FACTS | {"sources": changed}).compare()


def test_facts_are_written_as_they_are_compared(tmp_path):
    RunFolder(tmp_path / "run", RECIPE, FACTS).create()
    assert RunFolder(tmp_path / "run", RECIPE, FACTS).compare() == []
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8")) == FACTS

"""The folder of a run: files of version 0.1 have other names and keys, and are read as today's."""

import json
import warnings

import pytest
import torch

from sciprism.errors import InputError
from sciprism.training.checkpoint import Checkpoint
from sciprism.training.run_folder import RunFolder, StageFolder

FACTS = {
    "versions": {"torch": "2"},
    "processes": 1,
    "test_papers": {"one/search": 0},
    "finished_models": {"model": {"model.safetensors": "abc"}},
    "sources": {"one/search": {"examples": 3, "dropped": 1, "sha256": "def"}},
}
FORMER_FACTS = {
    "versions": {"torch": "2"},
    "processes": 1,
    "papers_of_tests": {"one/search": 0},
    "done": {"model": {"model.safetensors": "abc"}},
    "sources": {"one/search": {"examples": 3, "left_out": 1, "sha256": "def"}},
}
RECIPE = {"name": "made"}


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_checkpoint_of_version_0_1_is_read(tmp_path):
    stage = StageFolder(tmp_path)
    optimizer = {"optimizer": {"lr": 0.5}, "scaler": {}}
    stage.save(Checkpoint(3, {"w": torch.ones(2)}, optimizer, {"state": {"best": 0.5}}))
    folder = tmp_path / "checkpoint"
    written = {"optimizer.pt", "state.json", "weights.safetensors"}
    assert {path.name for path in folder.iterdir()} == written | {"checksums.json"}
    assert stage.load().optimizer == optimizer
    for name in ("optimizer.pt", "checksums.json"):
        (folder / name).unlink()
    (folder / "state.json").write_text(json.dumps({"step": 3, "state": {"best": 0.5}}))
    torch.save({"optimiser": {"lr": 0.5}, "scaler": {}}, folder / "optimiser.pt")
    found, wrong = stage.recover()
    assert (found.step, found.optimizer, found.state, wrong) == (3, optimizer, {"state": {"best": 0.5}}, "")


def test_facts_of_version_0_1_are_compared_by_todays_keys(tmp_path):
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    (tmp_path / "run.json").write_text(json.dumps(FORMER_FACTS))
    assert RunFolder(tmp_path, RECIPE, FACTS).compare() == []
    assert RunFolder(tmp_path, RECIPE, FACTS | {"finished_models": {}}).compare() == ["finished_models.model"]
    changed = {"one/search": FACTS["sources"]["one/search"] | {"dropped": 2}}
    with pytest.raises(InputError, match=r"sources.one/search.dropped has changed since it began"):
        RunFolder(tmp_path, RECIPE, FACTS | {"sources": changed}).compare()


def test_facts_are_written_under_todays_keys(tmp_path):
    RunFolder(tmp_path / "run", RECIPE, FACTS).create()
    assert RunFolder(tmp_path / "run", RECIPE, FACTS).compare() == []
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8")) == FACTS

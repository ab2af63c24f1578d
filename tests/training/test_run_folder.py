"""The folder of a run: its checkpoints, and the facts that a resumed run compares."""

import json

import pytest

from sciprism.errors import InputError
from sciprism.training.run_folder import RunFolder

FACTS = {
    "versions": {"torch": "2"},
    "processes": 1,
    "test_papers": {"one/search": 0},
    "finished_models": {"model": {"model.safetensors": "abc"}},
    "sources": {"one/search": {"examples": 3, "dropped": 1, "sha256": "def"}},
}
RECIPE = {"name": "made"}


def test_changed_facts_are_named_and_changed_sources_refused(tmp_path):
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    (tmp_path / "run.json").write_text(json.dumps(FACTS))
    assert RunFolder(tmp_path, RECIPE, FACTS).compare() == []
    assert RunFolder(tmp_path, RECIPE, FACTS | {"finished_models": {}}).compare() == ["finished_models.model"]
    changed = {"one/search": FACTS["sources"]["one/search"] | {"dropped": 2}}
    with pytest.raises(InputError, match=r"sources.one/search.dropped has changed since it began"):
        RunFolder(tmp_path, RECIPE, FACTS | {"sources": changed}).compare()

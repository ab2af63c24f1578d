"""The stages that a study's model went through, wherever they were trained."""

import json

import pytest

from run_summary import trace_stages


@pytest.fixture
def run(tmp_path):
    """Write a run whose stages have these keys; a stage with a finished model was not trained in it."""

    def write(name, backbone, **stages):
        listed = [{"name": stage.replace("_", "-"), **keys} for stage, keys in stages.items()]
        folder = tmp_path / name
        folder.mkdir()
        (folder / "recipe.json").write_text(json.dumps({"model": {"backbone": backbone}, "stages": listed}))
        for stage in listed:
            if "finished_model" not in stage:
                (folder / stage["name"]).mkdir()
                (folder / stage["name"] / "metrics.jsonl").write_text(json.dumps({"step": 3}))
        return folder

    return write


def trace(folder, stage=""):
    return [(each.folder.parent.name, each.name) for each in trace_stages(folder, stage)]


def test_a_model_has_the_stages_that_it_began_with_and_no_others(run):
    first = run(
        "first", "", words={"architecture": {"copy_from": "base"}}, small={"architecture": {"copy_from": "words"}}
    )
    assert trace(first) == [("first", "words"), ("first", "small")]
    words, small = ({"finished_model": str(first / stage / "model")} for stage in ("words", "small"))
    large = run("large", "", words=words, small=small, contrast={"initialize_from": "words"})
    assert trace(large) == [("first", "words"), ("large", "contrast")]
    taught = run("taught", "", words=words, small=small, distil={})
    assert trace(taught) == [("first", "words"), ("first", "small"), ("taught", "distil")]
    again = run("again", "", distil={"initialize_from": str(taught / "distil" / "model")}, later={})
    assert trace(again, "distil") == [*trace(taught), ("again", "distil")]
    assert trace(again) == [*trace(taught), ("again", "distil"), ("again", "later")]


def test_a_backbone_may_be_the_model_of_another_run(run):
    warm = run("warm", "all-MiniLM-L6-v2", citations={})
    begun = run("begun", str(warm / "citations" / "model"), citations={"initialize_from": "previous"})
    assert trace(begun) == [("warm", "citations"), ("begun", "citations")]
    assert trace(run("untouched", "base", end={"finished_model": "gone/end/model"}), "end") == []

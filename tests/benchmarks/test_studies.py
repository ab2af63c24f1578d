"""Studies: the recipes that their arms are trained by, runs that they share, and the stages behind a model."""

import argparse
import importlib
import json
from pathlib import Path

import pytest

import study
from run_summary import trace_stages


@pytest.mark.parametrize("name", ["scimult", "scirepeval", "prism", "multi2spe", "multi2spe_fields", "indus"])
def test_runs_on_file_are_of_the_recipes_in_the_tree(name):
    """Else a study that continues trains all of them again."""
    plan = importlib.import_module(name).STUDY
    results = Path(__file__).parents[2] / "results" / plan.paper
    latest, *_ = study.read_commands(results / study.RUNS)
    args = argparse.Namespace(backbone=study.RETRIEVER, change=latest["changes"], output=results)
    study.list_missing(plan, study.order_runs(plan.arms, plan.seeds), args)


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

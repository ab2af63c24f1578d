"""Studies: the recipes that their arms are trained by, runs that they share, and the stages behind a model."""

import argparse
import importlib
import json
from pathlib import Path

import pytest

import prism
import scirepeval
import study
from run_summary import trace_stages


@pytest.mark.parametrize("name", ["scimult", "scirepeval", "multi2spe", "multi2spe_fields", "indus", "indus_domain"])
def test_runs_on_file_are_of_the_recipes_in_the_tree(name):
    """Else a study that continues trains all of them again."""
    plan = importlib.import_module(name).STUDY
    results = Path(__file__).parents[2] / "results" / plan.paper
    latest, *_ = study.read_commands(results / plan.runs)
    args = argparse.Namespace(backbone=study.RETRIEVER, change=latest["changes"], output=results)
    study.list_missing(plan, study.order_runs(plan.arms, plan.seeds), args)


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """What is trained in place of SciRepEval's arms with a seed and a backbone: the words of each command."""
    found = []
    monkeypatch.setattr(study, "run_command", lambda *words: found.append(words))
    for name in (study.RETRIEVER, "masked-lm"):
        (tmp_path / f"{name}-{study.MAX_LENGTH}").mkdir()

    def train(key, seed, backbone=study.RETRIEVER):
        (arm,) = (arm for arm in scirepeval.STUDY.arms if (arm.key, max(arm.seed, 0)) == (key, seed))
        args = argparse.Namespace(
            runs=tmp_path, sources="s", seeds=[0], backbone=backbone, change=[], here=["defaults.x=1"]
        )
        study.train_arm(scirepeval.STUDY, arm, seed, args)
        return found

    return train


def test_each_partition_is_trained_with_its_sources_after_the_heads(commands):
    for number in range(scirepeval.PARTITIONS):
        *_, heads, words = commands("ctrl-random", number)
        assert heads[1] == Path("recipes/laptop/scirepeval-mtl-cls.toml")
        assert words[1] == Path("recipes/laptop/scirepeval-ctrl.toml") and words[-1] == "defaults.x=1"
        assert set(scirepeval.partition(number)) < set(words)


@pytest.mark.parametrize(("backbone", "starts"), [(study.RETRIEVER, 0), ("runs/masked-lm/model", 1)])
def test_another_backbone_is_what_every_recipe_starts_from(commands, tmp_path, backbone, starts):
    *_, words = commands("adapter-fusion", 0, backbone)
    found = [word for word in words if str(word).startswith("model.backbone=")]
    assert found == [f"model.backbone={tmp_path}/masked-lm-{study.MAX_LENGTH}"] * starts
    assert f"stages.formats.finished_model={tmp_path}/adapters-0/formats/model" in words


def test_a_shared_run_keeps_the_machine_that_made_it(tmp_path):
    made = {"command": "x", "gpu": "one", "runs": {"ctrl, seed 0": {"steps": 1}, "pals, seed 0": {}}}
    study.record_runs(tmp_path / "scirepeval" / "runs.json", made)
    study.record_runs(tmp_path / "scirepeval" / "runs.json", {"command": "y", "runs": {"ctrl, seed 1": {}}})
    args = argparse.Namespace(output=tmp_path / "prism", seeds=[0, 1], only=[], change=[], here=[])
    arms = [arm for arm in prism.METHODS.arms if arm.key == "control-codes"]
    study.run_arms(prism.METHODS, study.order_runs(arms, [0]), args)
    assert json.loads((tmp_path / "prism" / "runs.json").read_text()) == {
        "command": "x", "gpu": "one", "runs": {"control-codes, seed 0": {"steps": 1}}, "before": []
    }  # fmt: skip


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

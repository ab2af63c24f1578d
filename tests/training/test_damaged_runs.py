"""A run whose files are damaged, or that was killed at any moment: it ends the same, or says what is wrong."""

import json
import random
import shutil
from itertools import pairwise

import pytest

from build_runs import losses
from damage_trials import copy_folder, damage
from damaged_runs import build_runs, resume
from kill_switch import killed_after
from sciprism.errors import InputError
from sciprism.files import check_folder

CHECKPOINTS = ("checkpoint", "previous_checkpoint")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_model):
    """An interrupted run and a finished one, and what the first one ends with."""
    folder = tmp_path_factory.mktemp("runs")
    recipe = build_runs(folder, tiny_model)
    whole = resume(recipe, copy_folder(folder / "interrupted", folder / "whole"))
    assert whole[1] == losses(folder / "finished")
    return folder, recipe, whole


def test_damaged_metrics_are_said_and_the_model_is_the_same(runs, tmp_path):
    folder, recipe, whole = runs
    run = copy_folder(folder / "interrupted", tmp_path / "run")
    damage(run / "contrast" / "metrics.jsonl", "truncate", random.Random(0))
    weights, _, notes = resume(recipe, run)
    assert weights == whole[0] and any("metrics.jsonl is damaged" in note for note in notes)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(runs, tmp_path):
    """Steps are repeated with the same losses; then there is one checkpoint again, and no trace of the damage."""
    folder, recipe, whole = runs
    run = copy_folder(folder / "interrupted", tmp_path / "run")
    stage = run / "contrast"
    steps = [json.loads((stage / name / "state.json").read_text())["step"] for name in CHECKPOINTS]
    assert steps == [5, 3] and len(losses(run)) == 5
    damage(stage / "checkpoint" / "optimizer.pt", "flip", random.Random(0))
    weights, found, notes = resume(recipe, run)
    assert (weights, found) == whole[:2]
    assert "optimizer.pt is damaged or changed: its checksum differs; the checkpoint before it is used" in notes[0]
    assert notes[1] == "contrast: resumes after step 3 of 6"
    assert {path.name for path in stage.iterdir()} >= {"checkpoint", "model"}
    assert not (stage / "previous_checkpoint").exists()
    assert not [path for path in stage.iterdir() if path.name.startswith(".")]


def test_without_a_whole_checkpoint_the_run_says_what_to_do(runs, tmp_path):
    folder, recipe, whole = runs
    run = copy_folder(folder / "interrupted", tmp_path / "run")
    for name in CHECKPOINTS:
        damage(run / "contrast" / name / "weights.safetensors", "truncate", random.Random(1))
    with pytest.raises(InputError, match=r"no checkpoint is whole: .*weights.* remove what there is of checkpoint, "):
        resume(recipe, run)
    for name in (*CHECKPOINTS, "best"):
        shutil.rmtree(run / "contrast" / name)
    assert resume(recipe, run)[:2] == whole[:2]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("checkpoint/state.json", "{", "no checkpoint is whole: .*state.json|no checkpoint is whole: .*damaged"),
        ("checkpoint/state.json", '{"step": 5}', "damaged or of another model"),
        ("checkpoint/optimizer.pt", "no archive", "damaged"),
        ("../run.json", "{", "run.json: cannot be read as JSON"),
        ("../recipe.json", '{"stages": 3', "recipe.json: cannot be read as JSON"),
        ("../recipe.json", '{"stages": 3}', "another recipe|damaged"),
        ("best/config.json", "{", "the best model so far is damaged"),
    ],
)
def test_damage_without_checksums_is_a_message_too(file, content, message, runs, tmp_path):
    """Of a run whose checksums and checkpoint before the last someone has deleted."""
    folder, recipe, _ = runs
    run = copy_folder(folder / "interrupted", tmp_path / "run")
    for path in run.rglob("checksums.json"):
        path.unlink()
    shutil.rmtree(run / "contrast" / "previous_checkpoint")
    (run / "contrast" / file).write_text(content)
    with pytest.raises(InputError, match=message):
        resume(recipe, run)


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_change_of_the_disk_it_ends_the_same(every, runs, tmp_path):
    """Before each change of a file's name, each new or deleted file and folder; some of them by default."""
    _, recipe, whole = runs
    with killed_after(10**9, tmp_path) as changes:
        resume(recipe, tmp_path / "counted")
    renames = [number for number, change in enumerate(changes) if change == "os.rename"]
    between = [later for one, later in pairwise(renames) if later == one + 1]
    assert between, "two renames put a new checkpoint in its place"
    for number in sorted({*between, *range(0, len(changes), every)}):
        run = tmp_path / f"killed-{number}"
        with killed_after(number, tmp_path) as made:
            resume(recipe, run)
        assert len(made) == number
        assert resume(recipe, run)[:2] == whole[:2], number
        check_folder(run / "contrast")  # its checksums are those of the last metrics
        assert not [path for path in (run / "contrast").iterdir() if path.name.startswith(".")]
        shutil.rmtree(run)
